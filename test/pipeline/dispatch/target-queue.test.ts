import { expect, it } from "vitest";
import { EMPTY_REQUEST } from "../../../src/pipeline/dispatch/pool-request.ts";
import { TargetQueue } from "../../../src/pipeline/dispatch/target-queue.ts";
import type { PooledTarget } from "../../../src/pipeline/plan.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";
import { target } from "./world.ts";

/** A pool of two replicas, each for one request, and another target. */
function queued() {
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const gate = { maxRequests: 1, maxWaiting: 0, maxWaitMs: 0 };
	const pool = new Pools({ random: () => 0, changes }).of({
		backend: "a",
		urls: ["http://1", "http://2"],
		pool: { gate },
	});
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const pooled: PooledTarget = { ...shared, pool };
	const other = target("b");
	const queue = new TargetQueue([pooled, other], {
		health: { circuit: () => "closed" },
		now: () => 0,
		poolRequest: () => EMPTY_REQUEST,
	});
	return { pool, queue, other };
}

it("a replica at its limit of requests comes after all other targets", () => {
	const { pool, queue, other } = queued();
	const choice = pool.replicas.choose(EMPTY_REQUEST, 0, ({ url }) => url === "http://1");
	if (choice) pool.replicas.start(choice, EMPTY_REQUEST, 0);
	expect(queue.next()?.url).toBe("http://2");
	expect(queue.next()).toBe(other);
	expect(queue.next(true)).toBeUndefined();
	expect(queue.hasTargets).toBe(true);
	expect(queue.next()?.url).toBe("http://1");
	expect(queue.hasTargets).toBe(false);
	expect(queue.next()).toBeUndefined();
});

it("a target that is put back is the next, and the same object", () => {
	const { queue, other } = queued();
	const first = queue.next();
	if (first) queue.putBack(first);
	expect(queue.next()).toBe(first);
	expect(queue.next()?.backend).toBe("a");
	expect(queue.next()).toBe(other);
	queue.putBack(other);
	expect(queue.hasTargets).toBe(true);
	expect(queue.next()).toBe(other);
	expect(queue.hasTargets).toBe(false);
});

it("a target without a prefill replica gets no other one", () => {
	const { queue, other } = queued();
	const replica = queue.next();
	if (!replica) throw new Error("no replica");
	expect(queue.replacePrefill(other)).toBe(false);
	expect(queue.replacePrefill(replica)).toBe(false);
	queue.start(replica);
	expect(queue.replacePrefill(replica)).toBe(false);
});

it("a prefill replica that has failed is not chosen again for the request", () => {
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const disaggregation = {
		protocol: "sglang",
		roles: { "http://p1": "prefill", "http://p2": "prefill", "http://d1": "decode" },
		minPrefillTokens: 512,
		bootstrapPorts: {},
		rewriteRemoteHost: false,
	} as const;
	const urls = Object.keys(disaggregation.roles);
	const pool = new Pools({ random: () => 0, changes }).of({ backend: "a", urls, pool: { disaggregation } });
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const queue = new TargetQueue([{ ...shared, pool }], {
		health: { circuit: () => "closed" },
		now: () => 0,
		poolRequest: () => ({ ...EMPTY_REQUEST, inputTokens: 4_096, choices: 1 }),
	});
	const chosen = queue.next();
	if (!chosen) throw new Error("no target");
	const prefill = () => queue.legsOf(chosen)?.prefill?.replica.url;
	const first = prefill();
	expect(queue.replacePrefill(chosen)).toBe(true);
	expect([first, prefill()].sort()).toEqual(["http://p1", "http://p2"]);
	expect(queue.replacePrefill(chosen)).toBe(false);
});

it("a call of a replica starts a flight in its pool", () => {
	const { pool, queue, other } = queued();
	const replica = queue.next();
	const started = replica && queue.start(replica);
	expect(started?.flight.replica).toMatchObject({ url: replica?.url, requests: 1 });
	expect(started).not.toHaveProperty("prefill");
	expect([...pool.replicas.replicas].map(({ requests }) => requests).sort()).toEqual([0, 1]);
	expect(queue.start(other)).toBeUndefined();
	expect(queue.legsOf(other)).toBeUndefined();
});
