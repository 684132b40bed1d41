import { expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { PooledTarget } from "../../../src/pipeline/plan.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";
import { delta, liveEvents } from "../../gateway.ts";
import { observedExchange } from "../exchanges.ts";
import { streamed, target, world } from "./world.ts";

it("a replica is free when the request has ended, also if its answer is not read", async () => {
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const pool = new Pools({ random: () => 0, changes }).of({
		backend: "a",
		urls: ["http://a/v1"],
		pool: {},
	});
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const pooled: PooledTarget = { ...shared, pool };
	const live = liveEvents();
	live.send(delta("Hi"));
	const { runIn } = world({ replies: { a: () => live.response }, plan: { targets: [pooled] } });
	const { exchange } = observedExchange({ admission: {} });
	await runIn({ exchange }, streamed());
	const requests = () => pool.replicas.members.map((replica) => replica.requests);
	expect(requests()).toEqual([1]);
	exchange.fail(new AiError("aborted"));
	await exchange.ended;
	expect(requests()).toEqual([0]);
});
