import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import { Catalog } from "../../src/models/catalog.ts";
import { Exchange } from "../../src/pipeline/exchange.ts";
import { analyticsObserver } from "../../src/telemetry/exchange-observer.ts";
import { target } from "./dispatch/world.ts";
import { ADMISSION, observedExchange } from "./exchanges.ts";

const model = new Catalog().find("@cf/meta/llama-3.3-70b-instruct-fp8-fast");
if (!model) throw new Error("no model");
/** A caller who stays. */
const SIGNAL = new AbortController().signal;
const served = { backend: "engine", model: "m", attempts: 2, wasted: [] };
/** It settles nothing. */
const NO_LEDGERS = {
	of: () => ({ admit: async () => ({}), admitFromLease: () => undefined, settle: () => {} }),
};
const measured = { quantities: { inputTokens: 3, outputTokens: 2 }, estimated: false };

function clocked(admission?: object) {
	let now = 1000;
	const observed = observedExchange({ model: model ?? undefined, now: () => now, admission });
	let over = false;
	observed.released[0]?.then(() => {
		over = true;
	});
	return {
		...observed,
		pass: (ms: number) => {
			now += ms;
		},
		isReleased: async () => {
			await Promise.resolve();
			return over;
		},
	};
}

describe("an exchange", () => {
	it("goes through its states", () => {
		const { exchange } = observedExchange();
		expect(exchange.state).toBe("received");
		exchange.reserve(ADMISSION, model);
		expect(exchange.state).toBe("reserved");
		exchange.admit({});
		expect(exchange.state).toBe("admitted");
		exchange.begin();
		expect(exchange.state).toBe("streaming");
		exchange.complete("ok", { measured, served });
		expect(exchange.state).toBe("ended");
	});

	it("is counted for its account, unless it runs in a gateway, which is counted", () => {
		const counted: (string | undefined)[] = [];
		const services = {
			now: () => 0,
			waitUntil: (_: Promise<unknown>, account?: string) => void counted.push(account),
			ledgers: NO_LEDGERS,
			observers: [],
		};
		const caller = { account: "team-a", credential: { kind: "operator" } } as const;
		for (const gateway of [undefined, null, "support"]) {
			const credential = { kind: "operator", ...(gateway !== undefined && { gateway }) } as const;
			new Exchange({ id: "id", caller, signal: SIGNAL }, services).reserve(
				{ ...ADMISSION, credential },
				model,
			);
		}
		expect(counted).toEqual(["team-a", "team-a", undefined]);
	});

	it("is reserved when it has a place, and not if it gets none", async () => {
		const caller = { account: "team-a", credential: { kind: "operator" } } as const;
		const place = Promise.withResolvers<void>();
		const services = { now: () => 0, waitUntil: () => place.promise, ledgers: NO_LEDGERS, observers: [] };
		const exchange = new Exchange({ id: "id", caller, signal: SIGNAL }, services);
		const reserved = exchange.reserve(ADMISSION, model);
		const refused = new Exchange(
			{ id: "other", caller, signal: SIGNAL },
			{ ...services, waitUntil: () => Promise.reject(new AiError("outOfCapacity")) },
		);
		await expect(refused.reserve(ADMISSION, model)).rejects.toMatchObject({ key: "outOfCapacity" });
		expect([exchange.state, refused.state]).toEqual(["received", "received"]);
		place.resolve();
		await reserved;
		expect(exchange.state).toBe("reserved");
	});

	it("knows how long it can be settled, and whether a budget limits it", () => {
		const { exchange, pass } = clocked({ holdMs: 3_600_000 });
		expect(exchange.settlementMs).toBe(3_540_000);
		pass(3_539_000);
		expect(exchange.settlementMs).toBe(1000);
		exchange.attempt(target("a"));
		pass(3_539_000);
		expect(exchange.settlementMs).toBe(0);
		expect(clocked({ holdMs: 1000 }).exchange.settlementMs).toBe(900);
		expect(clocked().exchange.settlementMs).toBe(Number.POSITIVE_INFINITY);

		expect(exchange.isLimited).toBe(false);
		exchange.admit({ limited: true });
		expect(exchange.isLimited).toBe(true);
		const budgets = [{ key: "account", microNeurons: 1, failure: "budgetExceeded" as const }];
		expect(clocked({ budgets }).exchange.isLimited).toBe(true);
	});

	it("has its complete time for the first call of an engine after the clock was set forward", () => {
		const { exchange, pass } = clocked({ holdMs: 3_600_000 });
		pass(3_600_000);
		expect(exchange.settlementMs).toBe(3_540_000);
		exchange.attempt(target("a"));
		expect(exchange.settlementMs).toBe(0);
	});

	it("settles with what was used, once, and releases the context of its request", async () => {
		const { exchange, settled, pass, isReleased } = clocked({});
		pass(20);
		exchange.begin();
		pass(5);
		exchange.begin();
		expect(await isReleased()).toBe(false);
		expect(exchange.complete("ok", { measured, served })).toBe(3 * 26_668 + 2 * 204_805);
		exchange.complete("interrupted", { measured, served });
		exchange.fail(new AiError("executionFailed"));
		expect(settled).toEqual([
			{
				ticket: "t-1",
				outcome: "ok",
				microNeurons: 489_614,
				inputTokens: 3,
				cachedTokens: 0,
				outputTokens: 2,
				estimated: false,
				backend: "engine",
				attempts: 2,
				latencyMs: 25,
				firstTokenMs: 20,
			},
		]);
		expect(await isReleased()).toBe(true);
	});

	it("adds the cost of a hedge", () => {
		const { exchange, settled } = clocked({});
		exchange.complete("ok", { measured, served, hedgedMicroNeurons: 1_000 });
		expect(settled[0]?.microNeurons).toBe(490_614);
	});

	it.each([
		["ok", 7],
		["cancelled", undefined],
		["interrupted", undefined],
	] as const)("has a time to the first token without parts only if it is complete: %s", (outcome, ms) => {
		const { exchange, settled, pass } = clocked({});
		pass(7);
		exchange.complete(outcome, { measured, served });
		expect(settled).toMatchObject([{ outcome, latencyMs: 7 }]);
		expect(settled[0]?.firstTokenMs).toBe(ms);
	});

	it("costs nothing without an answer, and settles with the code and the attempts", () => {
		const { exchange, settled } = clocked({});
		exchange.attempt(target("a"));
		exchange.attempt(target("b"));
		const failure = exchange.fail(new AiError("outOfCapacity", undefined, { upstream: { backend: "b" } }));
		expect(failure.exchange).toEqual({ attempts: 2, isAdmitted: true, credentialVerified: true });
		expect(settled).toMatchObject([
			{ outcome: "failed", microNeurons: 0, code: 3040, attempts: 2, backend: "b" },
		]);
		expect(settled[0]).not.toHaveProperty("firstTokenMs");
	});

	it("is cancelled and no failure if the caller leaves before the answer", () => {
		const { exchange, settled } = clocked({});
		exchange.attempt(target("a"));
		exchange.fail(new AiError("aborted"));
		expect(settled).toMatchObject([{ outcome: "cancelled", microNeurons: 0, attempts: 1 }]);
		expect(settled[0]).not.toHaveProperty("code");
	});

	const measureInput = () => ({ quantities: { inputTokens: 3 }, estimated: true });

	it("costs its input if the caller leaves while an engine works on it", () => {
		const { exchange, settled } = clocked({});
		exchange.attempt(target("a"));
		exchange.fail(new AiError("aborted"), measureInput);
		expect(settled).toMatchObject([
			{ outcome: "cancelled", microNeurons: 3 * 26_668, inputTokens: 3, outputTokens: 0, estimated: true },
		]);
	});

	it.each<[string, AiError, (exchange: Exchange) => void]>([
		["without a call", new AiError("aborted"), () => {}],
		[
			"after a call that failed",
			new AiError("aborted"),
			(exchange) => exchange.attemptFailed(exchange.attempt(target("a")), new AiError("outOfCapacity")),
		],
		["if no engine answers", new AiError("outOfCapacity"), (exchange) => void exchange.attempt(target("a"))],
	])("costs nothing %s", (_, failure, call) => {
		const { exchange, settled } = clocked({});
		call(exchange);
		exchange.fail(failure, measureInput);
		expect(settled).toMatchObject([{ microNeurons: 0, inputTokens: 0, estimated: false }]);
	});

	it("settles nothing if its account refuses it, and ends", async () => {
		const { exchange, settled, isReleased } = clocked();
		exchange.reserve(ADMISSION, model);
		exchange.refuse(new AiError("rateLimited"));
		expect(exchange.state).toBe("ended");
		exchange.complete("ok", { measured, served });
		expect(settled).toEqual([]);
		expect(exchange.fail(new AiError("rateLimited")).exchange?.credentialVerified).toBe(true);
		expect(await isReleased()).toBe(false);
	});

	it("releases the context of a refused request", async () => {
		const { exchange, released } = observedExchange();
		exchange.reserve(ADMISSION, model);
		exchange.refuse(new AiError("rateLimited"));
		await expect(released[0]).resolves.toBeUndefined();
	});

	it("does not take a credential as verified before the account has answered", () => {
		const early = observedExchange();
		expect(early.exchange.fail(new AiError("badInput")).exchange?.credentialVerified).toBe(false);
		const unreachable = observedExchange();
		unreachable.exchange.reserve(ADMISSION, model);
		unreachable.exchange.refuse(new AiError("ledgerUnavailable"));
		const failure = unreachable.exchange.fail(new AiError("ledgerUnavailable"));
		expect(failure.exchange?.credentialVerified).toBe(false);
	});

	it("settles with its calls of engines, if there were several or one failed", () => {
		const { exchange, settled, pass } = clocked({});
		pass(3);
		const first = exchange.attempt(target("a"));
		pass(7);
		exchange.attemptFailed(first, new AiError("executionFailed"));
		pass(5);
		exchange.attempt(target("b"));
		exchange.complete("ok", { measured, served });
		expect(settled[0]?.calls).toEqual([
			{ backend: "a", startedMs: 3, failedMs: 10, code: 5001 },
			{ backend: "b", startedMs: 15 },
		]);

		const once = clocked({});
		once.exchange.attempt(target("a"));
		once.exchange.complete("ok", { measured, served });
		expect(once.settled[0]).not.toHaveProperty("calls");

		const many = clocked({});
		for (let i = 0; i < 25; i++) many.exchange.attempt(target(`engine-${i}`));
		many.exchange.complete("ok", { measured, served });
		expect(many.settled[0]?.calls?.map(({ backend }) => backend)).toEqual(
			Array.from({ length: 20 }, (_, i) => `engine-${i}`),
		);
	});

	it("keeps its attempts, and where each failed", () => {
		const { exchange, pass } = clocked({});
		const attempt = exchange.attempt(target("a"));
		pass(7);
		const failure = new AiError("executionFailed", undefined, { upstream: { backend: "a", status: 500 } });
		exchange.attemptFailed(attempt, failure);
		expect(exchange.attempts).toMatchObject([{ number: 1, startedAt: 1000, failedAt: 1007, failure }]);
		expect(failure.place).toEqual({
			account: "team-a",
			model: model.id,
			backend: "a",
			replica: "a",
			attempt: 1,
		});
	});
});

describe("observers", () => {
	const upstream = { backend: "a" };

	it("receive each failure once", () => {
		const { exchange, logged } = observedExchange({ admission: {} });
		const failure = new AiError("executionFailed", undefined, { upstream });
		exchange.attemptFailed(exchange.attempt(target("a")), failure);
		exchange.fail(failure);
		expect(logged).toEqual([["id", 5001]]);
	});

	it("receive no failure that only combines others", () => {
		const { exchange, logged } = observedExchange({ admission: {} });
		exchange.attemptFailed(exchange.attempt(target("a")), new AiError("timeout", undefined, { upstream }));
		exchange.fail(exchange.markReported(new AiError("timeout", "All engines failed")));
		expect(logged).toEqual([["id", 3007]]);
	});

	it("receive the failure that interrupts a stream, with its place", () => {
		const { exchange, logged } = observedExchange({ admission: {} });
		exchange.attempt(target("a"));
		const failure = new AiError("executionFailed", undefined, { upstream });
		exchange.complete("interrupted", { measured, served, failure });
		expect(logged).toEqual([["id", 5001]]);
		expect(failure.place).toMatchObject({ backend: "a", attempt: 1 });
	});

	it("receive a failure from before admission", () => {
		const { exchange, logged, settled } = observedExchange();
		exchange.fail(new Error("a bug"));
		expect(logged).toEqual([["id", 5001]]);
		expect(settled).toEqual([]);
	});

	it("write a data point for each settled request", () => {
		const points: AnalyticsEngineDataPoint[] = [];
		const observer = analyticsObserver({ writeDataPoint: (point) => points.push(point ?? {}) });
		const caller = { account: "team-a", credential: { kind: "operator" } } as const;
		const services = { now: () => 0, waitUntil: () => {}, ledgers: NO_LEDGERS, observers: [observer] };
		const settled = new Exchange({ id: "one", caller, signal: SIGNAL }, services);
		settled.reserve(ADMISSION, model);
		settled.admit({});
		settled.complete("ok", { measured, served });
		new Exchange({ id: "two", caller, signal: SIGNAL }, services).fail(new AiError("badInput"));
		expect(points.map(({ indexes }) => indexes)).toEqual([["team-a"]]);
	});
});
