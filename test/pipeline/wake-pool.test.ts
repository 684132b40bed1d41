import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { IsolateHealth } from "../../src/fleet/health.ts";
import type { Plan } from "../../src/pipeline/plan.ts";
import { wakePool } from "../../src/pipeline/wake-pool.ts";
import { Discoveries } from "../../src/pools/discovery.ts";
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

describe("a pool whose replicas a service lists", () => {
	const DISCOVER = { url: "http://registry/replicas", path: "/v1", refreshMs: 30_000 };

	/** Two targets: the pool, which has no replica until `listed` names one, and another backend. `post` is the call of the wake service. */
	function discovered(post: () => Promise<unknown>) {
		const state = { now: 0, listed: [] as string[], reads: 0 };
		const background: Promise<unknown>[] = [];
		const now = () => state.now;
		const waitUntil = (work: Promise<unknown>) => background.push(work);
		const pools = new Pools({
			random: () => 0,
			changes: new ReplicaChanges({ now, wait: async () => {} }),
			discoveries: new Discoveries({
				...{ now, waitUntil, wait: () => new Promise<void>(() => {}) },
				read: async () => {
					state.reads++;
					return JSON.stringify(state.listed);
				},
			}),
			wakeCalls: new WakeCalls({ now, waitUntil, post }),
		});
		const shared = {
			...{ backend: "vllm", kind: "openai", model: "m", headers: {}, urls: [], weight: 1 },
			timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
		} as const;
		const target = { ...shared, pool: { wake: WAKE, discover: DISCOVER } };
		const other = { ...shared, backend: "other", url: "http://other", circuit: "closed" } as const;
		const services = { ...testServices(), pools, now, health: { circuit: () => "closed" } as never };
		/** The addresses of the pool that a request at this time finds. What it starts in the background is done afterwards. */
		const request = async (at: number) => {
			state.now = at;
			await pools.refresh([target]);
			const pool = pools.of(target);
			if (!pool) throw new Error("no pool");
			const urls = pool.replicas.members.map(({ url }) => url);
			const plan: Plan = {
				targets: [{ ...shared, pool }, other],
				retries: { attempts: 1, baseMs: 0, maxMs: 0 },
			};
			const routed = { targets: [target] } as never;
			await wakePool(plan, { routed, signal: NEVER, mayWait: true }, services);
			while (background.length > 0) await Promise.all(background.splice(0));
			return urls;
		};
		return { request, state };
	}

	it("reads the list as soon as the service has answered", async () => {
		const { request, state } = discovered(async () => {
			state.listed = ["http://gpu"];
		});
		expect(await request(0)).toEqual([]);
		expect(await request(1)).toEqual(["http://gpu/v1"]);
		expect(state.reads).toBe(2);
	});

	it("reads the list of a replica that starts after the answer at the first request after half a second", async () => {
		const { request, state } = discovered(async () => {
			throw new Error("the service is slow");
		});
		expect(await request(0)).toEqual([]);
		state.listed = ["http://gpu"];
		expect(await request(499)).toEqual([]);
		expect(state.reads).toBe(1);
		expect(await request(500)).toEqual([]);
		expect(await request(501)).toEqual(["http://gpu/v1"]);
		// A pool with a replica reads its list as seldom as others.
		await request(2_000);
		expect(state.reads).toBe(2);
	});
});
