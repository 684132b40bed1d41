import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { present } from "../../../src/core/present.ts";
import { waitForCapacity } from "../../../src/pipeline/dispatch/pool-capacity.ts";
import type { Exchange } from "../../../src/pipeline/exchange.ts";
import type { Plan, PooledTarget } from "../../../src/pipeline/plan.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";
import { observedExchange } from "../exchanges.ts";
import { CHAT, type Reply, status, target, world } from "./world.ts";

/** A pool of one replica for one request, and another target. */
function limited(maxWaiting = 0, url = "http://1") {
	const services = { now: () => 0, wait: () => new Promise<void>(() => {}) };
	const pool = new Pools({ random: () => 0, changes: new ReplicaChanges(services) }).of({
		backend: "a",
		urls: [url],
		pool: { gate: { maxRequests: 1, maxWaiting, maxWaitMs: 10 } },
	});
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const pooled: PooledTarget = { ...shared, pool };
	const callers: { exchange: Exchange; caller: AbortController }[] = [];
	const enter = (targets: Plan["targets"], call = CHAT) => {
		const plan: Plan = { targets, retries: { attempts: 1, baseMs: 1, maxMs: 1 } };
		const { exchange } = observedExchange({ admission: {} });
		const caller = new AbortController();
		callers.push({ exchange, caller });
		return waitForCapacity(plan, call, { exchange, signal: caller.signal }, services);
	};
	return { callers, enter, pool, pooled, other: target("b") };
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

it.each<[string, (request: { exchange: Exchange; caller: AbortController }) => void]>([
	["its exchange ends", ({ exchange }) => exchange.fail(new AiError("executionFailed"))],
	["its caller leaves", ({ caller }) => caller.abort()],
])("the place of a request is free when %s", async (_, end) => {
	const { callers, enter, other, pooled } = limited();
	await enter([pooled, other]);
	for (const request of callers) end(request);
	await Promise.resolve();
	expect((await enter([pooled, other])).plan.targets).toEqual([pooled, other]);
	expect((await enter([pooled, other])).plan.targets).toEqual([other]);
});

it("a request without another target is refused", async () => {
	const { enter, pooled } = limited();
	await enter([pooled]);
	await expect(enter([pooled])).rejects.toMatchObject({ key: "outOfCapacity" });
});

it.each([
	["50 output tokens", 50, 100],
	["100 output tokens", 100, 200],
	["no limit, as 256 output tokens", undefined, 512],
])("a request that waits counts twice its output tokens: %s", async (_, limit, cost) => {
	const { enter, pool, pooled } = limited(1);
	await enter([pooled]);
	const input = { messages: [{ role: "user" as const, content: "" }], stream: false };
	const waitingTokens = (max_tokens?: number) => {
		void enter([pooled], { task: "text-generation", input: { ...input, ...present({ max_tokens }) } });
		return pool.gate?.report(0).waitingTokens ?? 0;
	};
	const waiting = waitingTokens(limit);
	// The prompt has few tokens, for the template of the message.
	expect(waiting - cost).toBeGreaterThanOrEqual(0);
	expect(waiting - cost).toBeLessThan(20);
});

it("a target without a pool has no limit", async () => {
	const { enter, other } = limited();
	expect(await enter([other])).toEqual({ plan: expect.objectContaining({ targets: [other] }) });
});

describe("a dispatch to a pool with a limit", () => {
	const answered: Reply = () => Response.json({ choices: [{ message: { content: "Hi" } }] });
	const dispatched = (reply: Reply) => {
		const { pool } = limited(0, "http://a/v1");
		const { url: _, circuit: __, ...shared } = target("a");
		return world({ replies: { a: reply }, plan: { targets: [{ ...shared, pool }] } });
	};

	it("has its place until its exchange ends", async () => {
		const { failure, run } = dispatched(answered);
		expect((await run()).served).toMatchObject({ backend: "a", attempts: 1 });
		expect(await failure()).toMatchObject({ key: "outOfCapacity" });
	});

	it("is charged for twice the output tokens of its answer, and its prompt", async () => {
		const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
		const reply: Reply = () => Response.json({ choices: [{ message: { content: "Hi" } }], usage });
		const pool = new Pools({
			random: () => 0,
			changes: new ReplicaChanges({ now: () => 0, wait: async () => {} }),
		}).of({ backend: "a", urls: ["http://a/v1"], pool: {} });
		if (!pool) throw new Error("no pool");
		const { url: _, circuit: __, ...shared } = target("a");
		const { runIn } = world({ replies: { a: reply }, plan: { targets: [{ ...shared, pool }] } });
		const costs: number[] = [];
		await runIn({ place: { correct: (cost) => void costs.push(cost), leave() {} } }, CHAT);
		expect(costs).toEqual([20]);
	});

	it("has no place after a failure", async () => {
		const { engines, failure } = dispatched(status(500));
		for (let i = 0; i < 2; i++) expect(await failure()).toMatchObject({ key: "executionFailed" });
		expect(engines()).toEqual(["a", "a"]);
	});
});
