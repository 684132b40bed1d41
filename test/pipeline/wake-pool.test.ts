import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { IsolateHealth } from "../../src/fleet/health.ts";
import type { Plan } from "../../src/pipeline/plan.ts";
import { wakePool } from "../../src/pipeline/wake-pool.ts";
import { Pools } from "../../src/pools/pools.ts";
import { ReplicaChanges } from "../../src/pools/replica-changes.ts";
import { WakeCalls } from "../../src/pools/wake-calls.ts";
import { BASE, OPEN_ACCESS, testServices } from "../gateway.ts";

const URL = "http://gpu/v1";
const WAKE = { url: "http://scaler/wake", cooldownMs: 60_000, waitMs: 3_000 };
const NEVER = new AbortController().signal;

/** A pool of one replica, which starts to answer at `upAt`. Waiting moves the clock. */
function scaled({ upAt = Number.POSITIVE_INFINITY, waitMs = WAKE.waitMs } = {}) {
	const clock = { now: 0 };
	const posts: string[] = [];
	const now = () => clock.now;
	const pools = new Pools({
		random: () => 0,
		changes: new ReplicaChanges({ now, wait: async () => {} }),
		wakeCalls: new WakeCalls({
			now,
			waitUntil: () => {},
			post: async (url, body) => posts.push(`${url} ${JSON.stringify(body)}`),
		}),
	});
	const services = {
		...testServices(),
		pools,
		now,
		health: {
			circuit: () => (clock.now >= upAt ? "half-open" : "open"),
			start: () => {
				throw new Error("no call is made");
			},
		} as const,
		wait: async (ms: number, signal?: AbortSignal) => {
			signal?.throwIfAborted();
			clock.now += ms;
		},
	};
	const weighted = {
		backend: "vllm",
		kind: "openai",
		model: "m",
		headers: {},
		timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
	} as const;
	const pool = pools.of({ backend: "vllm", urls: [URL], pool: { wake: { ...WAKE, waitMs } } });
	if (!pool) throw new Error("no pool");
	const pooled = { ...weighted, pool };
	const other = { ...weighted, backend: "other", url: "http://other", circuit: "closed" } as const;
	const plan = (...targets: Plan["targets"]): Plan => ({
		targets,
		retries: { attempts: 1, baseMs: 0, maxMs: 0 },
	});
	const wake = (planned: Plan, options: { signal?: AbortSignal; mayWait?: boolean } = {}) =>
		wakePool(planned, { routed: undefined, signal: NEVER, mayWait: true, ...options }, services);
	return { clock, other, plan, pooled, posts, wake };
}

describe("a pool that was scaled to zero", () => {
	it("is woken once in the cooldown, and its requests wait for a replica", async () => {
		const { clock, plan, pooled, posts, wake } = scaled({ upAt: 1_200 });
		const waiting = wake(plan(pooled));
		expect(await waiting).toEqual(plan(pooled));
		expect(clock.now).toBe(1_500);
		expect(posts).toEqual(['http://scaler/wake {"backend":"vllm"}']);
		expect(wake(plan(pooled))).toBeUndefined();
	});

	it("refuses requests after the wait, with the time of the next attempt", async () => {
		const { clock, plan, pooled, posts, wake } = scaled();
		const refusal = { key: "outOfCapacity", retryAfter: 60 };
		await expect(wake(plan(pooled))).rejects.toMatchObject(refusal);
		expect(clock.now).toBe(3_000);
		await expect(wake(plan(pooled), { mayWait: false })).rejects.toMatchObject(refusal);
		expect(clock.now).toBe(3_000);
		expect(posts).toHaveLength(1);
		clock.now = 60_000;
		await expect(wake(plan(pooled), { mayWait: false })).rejects.toMatchObject(refusal);
		expect(posts).toHaveLength(2);
	});

	it("refuses requests if the clock is set back while they wait", async () => {
		const { clock, plan, pooled, wake } = scaled();
		const waiting = wake(plan(pooled));
		clock.now -= 3_600_000;
		await expect(waiting).rejects.toMatchObject({ key: "outOfCapacity" });
		expect(clock.now).toBeLessThan(-3_590_000);
	});

	it("leaves its requests to the next target of the route", async () => {
		const { clock, other, plan, pooled, posts, wake } = scaled();
		expect(await wake(plan(pooled, other))).toEqual(plan(other));
		expect([clock.now, posts.length]).toEqual([0, 1]);
		expect(wake(plan(other, pooled))).toBeUndefined();
	});

	it("counts the requests that it refuses, from which an autoscaler starts replicas", async () => {
		const persistent = testServices({
			vars: {
				BACKENDS: { vllm: { kind: "openai", pool: { replicas: [URL], wake: WAKE.url } } },
				ROUTES: { "@cf/*": [{ backend: "vllm" }] },
			},
			fetch: async () => new Response(null),
		});
		const { now } = persistent;
		const health = Object.assign(new IsolateHealth({ now, waitUntil: () => {} }), {
			circuit: () => "open" as const,
		});
		const app = createApp({ ...persistent, health }, OPEN_ACCESS);
		const refused = await app.request(`${BASE}/run/@cf/meta/llama-3.1-8b-instruct-fp8`, {
			method: "POST",
			body: JSON.stringify({ prompt: "Hi" }),
			headers: { "content-type": "application/json" },
		});
		expect(refused.status).toBe(429);
		expect(persistent.pools.reports(0)).toMatchObject([{ backend: "vllm", incoming: 1 }]);
	});

	it("stops waiting when the caller disconnects", async () => {
		const { plan, pooled, wake } = scaled();
		const signal = AbortSignal.abort();
		await expect(wake(plan(pooled), { signal })).rejects.toMatchObject({ key: "aborted" });
	});
});
