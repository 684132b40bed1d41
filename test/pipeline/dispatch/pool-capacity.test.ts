import { expect, it } from "vitest";
import { waitForCapacity } from "../../../src/pipeline/dispatch/pool-capacity.ts";
import type { Plan, PooledTarget } from "../../../src/pipeline/plan.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";
import { observedExchange } from "../exchanges.ts";
import { CHAT, target } from "./world.ts";

/** A pool of one replica for one request, which nobody may wait for, and another target. */
function limited() {
	const services = { now: () => 0, wait: async () => {} };
	const pool = new Pools({ random: () => 0, changes: new ReplicaChanges(services) }).of({
		backend: "a",
		urls: ["http://1"],
		pool: { gate: { maxRequests: 1, maxWaiting: 0, maxWaitMs: 0 } },
	});
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const pooled: PooledTarget = { ...shared, pool };
	const enter = (targets: Plan["targets"]) => {
		const plan: Plan = { targets, retries: { attempts: 1, baseMs: 1, maxMs: 1 } };
		const { exchange } = observedExchange({ admission: {} });
		return waitForCapacity(plan, CHAT, { exchange, signal: new AbortController().signal }, services);
	};
	return { enter, pooled, other: target("b") };
}

it("a request takes a place in the pool of its first target, and the next target if there is none", async () => {
	const { enter, other, pooled } = limited();
	const first = await enter([pooled, other]);
	expect(first).toMatchObject({ plan: { targets: [pooled, other] }, place: {} });
	const second = await enter([pooled, other]);
	expect(second.plan.targets).toEqual([other]);
	expect(second).not.toHaveProperty("place");
	first.place?.leave();
	expect((await enter([pooled, other])).plan.targets).toEqual([pooled, other]);
});

it("a request without another target is refused", async () => {
	const { enter, pooled } = limited();
	await enter([pooled]);
	await expect(enter([pooled])).rejects.toMatchObject({ key: "outOfCapacity" });
});

it("a target without a pool has no limit", async () => {
	const { enter, other } = limited();
	expect(await enter([other])).toEqual({ plan: expect.objectContaining({ targets: [other] }) });
});
