/**
 * The ledger against a simple model: a list of requests that is searched for every answer. Both agree after any sequence of
 * operations, with restarts and clocks that go back.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Admission, Admitted, Outcome, Settlement } from "../../../src/accounts/admission.ts";
import { NOON, rowsIn, settlement, TASK, TestLedger, withLedger } from "../fixtures.ts";

const MODELS = ["@cf/a/one", "@cf/a/two"];
const TOKENS = [undefined, { id: "t1", limits: { dailyMicroNeurons: 700, requestsPerMinute: 4 } }];
const ACCOUNT_BUDGET = 1_500;
const MODEL_BUDGET = 900;
const MODEL_RATE = 3;
const TASK_RATE = 5;

interface ModelRequest {
	ticket: string;
	at: number;
	model: string;
	token: string;
	reserved: number;
	holdMs: number;
	expiresAt: number;
	/** In the rate windows. A request that was admitted while the clock was ahead is not, after they are rebuilt. */
	counted: boolean;
	outcome?: Outcome;
	settledAt?: number;
	/** Position among the settled requests. */
	settledAs?: number;
	/** It has expired, so that its settlement replaces the charge. */
	replaceable?: boolean;
	microNeurons: number;
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

class Model {
	readonly requests: ModelRequest[] = [];
	#settlements = 0;
	clock = NOON;
	latest = NOON;

	day = dayOf(NOON);

	/** Never before an earlier one, unless that was more than five minutes ahead of the clock. */
	get now(): number {
		const isCorrected = this.latest - this.clock > 300_000;
		this.latest = isCorrected ? this.clock : Math.max(this.latest, this.clock);
		if (isCorrected || dayOf(this.latest) !== this.day) this.#rebuild();
		return this.latest;
	}

	/** Rebuilds the state in memory from the written state. */
	#rebuild(): void {
		const now = this.latest;
		this.day = dayOf(now);
		for (const request of this.requests) {
			request.counted = request.at > now - 60_000 && request.at <= now;
			request.expiresAt = Math.min(request.at, now) + request.holdMs;
		}
	}

	/** Only written state survives. */
	restart(): void {
		this.latest = Math.max(0, ...this.requests.flatMap(({ at, settledAt = 0 }) => [at, settledAt]));
		this.day = "";
	}

	today(of: (request: ModelRequest) => boolean): { spent: number; reserved: number } {
		const requests = this.requests.filter((request) => dayOf(request.at) === dayOf(this.now) && of(request));
		const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
		return {
			spent: sum(requests.filter(({ outcome }) => outcome).map(({ microNeurons }) => microNeurons)),
			reserved: sum(requests.filter(({ outcome }) => !outcome).map(({ reserved }) => reserved)),
		};
	}

	lastMinute(of: (request: ModelRequest) => boolean): number {
		const { now } = this;
		return this.requests.filter((request) => request.counted && request.at > now - 60_000 && of(request))
			.length;
	}

	/** Finds the output to grant by trying every number of tokens. */
	admit({ cost, holdMs, model, ticket }: Admission, token: string): Admitted["ok"] {
		const ofModel = (request: ModelRequest): boolean => request.model === model;
		const ofToken = (request: ModelRequest): boolean => request.token === token;
		if (model === MODELS[0] && this.lastMinute(ofModel) >= MODEL_RATE) return false;
		if (model !== MODELS[0] && this.lastMinute((request) => request.model !== MODELS[0]) >= TASK_RATE)
			return false;
		if (token && this.lastMinute(ofToken) >= 4) return false;
		const remaining = [this.#remaining(() => true, ACCOUNT_BUDGET)];
		if (model === MODELS[0]) remaining.push(this.#remaining(ofModel, MODEL_BUDGET));
		if (token) remaining.push(this.#remaining(ofToken, 700));
		const least = Math.min(...remaining);
		let tokens = cost.outputTokens;
		const reserved = (): number => cost.fixedMicroNeurons + cost.microNeuronsPerOutputToken * tokens;
		while (cost.outputUnbounded && tokens > 1 && reserved() > least) tokens--;
		if (reserved() > least) return false;
		this.requests.push({
			ticket,
			at: this.now,
			model,
			token,
			reserved: reserved(),
			holdMs,
			expiresAt: this.now + holdMs,
			counted: true,
			microNeurons: 0,
		});
		return true;
	}

	settle({ ticket, outcome, microNeurons }: Settlement): void {
		const request = this.requests.find((other) => other.ticket === ticket);
		if (!request || (request.outcome && !request.replaceable)) return;
		request.replaceable = false;
		request.outcome = outcome;
		request.settledAt = this.now;
		request.settledAs = ++this.#settlements;
		request.microNeurons = outcome === "failed" ? 0 : microNeurons;
	}

	expire(): void {
		for (const request of this.requests)
			if (!request.outcome && request.expiresAt <= this.now)
				Object.assign(request, {
					...{ outcome: "expired", settledAt: this.now, microNeurons: request.reserved },
					settledAs: ++this.#settlements,
					replaceable: true,
				});
	}

	#remaining(of: (request: ModelRequest) => boolean, budget: number): number {
		const { spent, reserved } = this.today(of);
		return budget - spent - reserved;
	}
}

const step = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant("admit" as const),
			model: fc.nat({ max: 1 }),
			token: fc.nat({ max: 1 }),
			fixed: fc.nat({ max: 250 }),
			perToken: fc.integer({ min: 1, max: 20 }),
			tokens: fc.nat({ max: 30 }),
			outputUnbounded: fc.boolean(),
			holdMs: fc.constantFrom(1_000, 60_000, 3_600_000),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			kind: fc.constant("settle" as const),
			// The positions of requests, and the share of its reservation that each used.
			uses: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 100 })), {
				maxLength: 5,
			}),
			outcome: fc.constantFrom<Outcome>("ok", "failed", "interrupted", "cancelled"),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			kind: fc.constant("wait" as const),
			ms: fc.oneof(
				fc.integer({ min: 0, max: 30_000 }),
				fc.integer({ min: -7_200_000, max: 7_200_000 }),
				fc.constant(12 * 3_600_000),
			),
		}),
	},
	{ weight: 1, arbitrary: fc.constant({ kind: "expire" as const }) },
	{ weight: 2, arbitrary: fc.constant({ kind: "restart" as const }) },
);

describe("Ledger", () => {
	// Corrections of the clock are logged.
	beforeAll(() => {
		const log = vi.spyOn(console, "error").mockImplementation(() => {});
		return () => log.mockRestore();
	});

	it(
		"agrees with the model after any operations",
		() =>
			withLedger(({ storage }) => {
				fc.assert(
					fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
						storage.sql.exec(
							"DROP TABLE IF EXISTS requests; DROP TABLE IF EXISTS segments; DROP TABLE IF EXISTS usage",
						);
						const model = new Model();
						const open = (): TestLedger => new TestLedger(rowsIn(storage), () => model.clock);
						let ledger = open();
						let tickets = 0;
						for (const step of steps) {
							switch (step.kind) {
								case "admit": {
									const id = MODELS[step.model] ?? "";
									const bearer = TOKENS[step.token];
									const admission = admissionFor(id, `ticket-${++tickets}`, step);
									const { answer } = ledger.limitStatus({ ...admission, request: admission }, bearer);
									const admitted = ledger.admit(admission, bearer);
									expect(answer).toEqual(admitted);
									expect(admitted.ok).toBe(model.admit(admission, bearer?.id ?? ""));
									if (admitted.ok) {
										const { reserved } = model.requests.at(-1) ?? {};
										const { fixed, perToken, tokens } = step;
										expect(fixed + perToken * (admitted.outputTokens ?? tokens)).toBe(reserved);
									}
									break;
								}
								case "settle": {
									const batch = step.uses.flatMap(([place, share]) => {
										const request = model.requests[Math.floor(place * (model.requests.length - 1))];
										if (!request) return [];
										const microNeurons = Math.floor((request.reserved * share) / 100);
										return [settlement(request.ticket, { outcome: step.outcome, microNeurons })];
									});
									ledger.settle(batch);
									for (const one of batch) model.settle(one);
									break;
								}
								case "wait":
									model.clock += step.ms;
									break;
								case "expire":
									ledger.expire();
									model.expire();
									break;
								case "restart":
									ledger = open();
									model.restart();
									break;
								default:
									step satisfies never;
							}
							expectSame(ledger, model);
						}
						// After any last operation.
						model.restart();
						expectSame(open(), model);
					}),
					{ numRuns: 50 },
				);
			}),
		60_000,
	);
});

function admissionFor(
	model: string,
	ticket: string,
	{
		fixed,
		perToken,
		tokens,
		outputUnbounded,
		holdMs,
	}: { fixed: number; perToken: number; tokens: number; outputUnbounded: boolean; holdMs: number },
): Admission {
	const first = model === MODELS[0];
	return {
		ticket,
		credential: { kind: "operator" },
		model,
		task: TASK,
		// As in the pipeline: a model's own rate replaces its task's.
		rates: [
			first
				? { key: `model:${model}`, perMinute: MODEL_RATE }
				: { key: `task:${TASK}`, perMinute: TASK_RATE },
		],
		budgets: [
			{ key: "account", microNeurons: ACCOUNT_BUDGET, failure: "accountLimited" },
			...(first
				? [{ key: `model:${model}`, microNeurons: MODEL_BUDGET, failure: "budgetExceeded" as const }]
				: []),
		],
		cost: {
			fixedMicroNeurons: fixed,
			microNeuronsPerOutputToken: perToken,
			outputTokens: tokens,
			outputUnbounded,
		},
		holdMs,
	};
}

const stateOf = (ledger: TestLedger) => {
	const query = admissionFor(MODELS[0] ?? "", "", {
		fixed: 0,
		perToken: 0,
		tokens: 0,
		outputUnbounded: false,
		holdMs: 0,
	});
	return ledger.limitStatus(
		{ ...query, rates: [...query.rates, { key: `task:${TASK}`, perMinute: TASK_RATE }] },
		TOKENS[1],
	);
};

function expectSame(ledger: TestLedger, model: Model): void {
	const { day, open: openCount, budgets, rates } = stateOf(ledger);
	expect(day).toBe(dayOf(model.now));
	expect(openCount).toBe(model.requests.filter(({ outcome }) => !outcome).length);
	const expected = [
		model.today(() => true),
		model.today((request) => request.model === MODELS[0]),
		model.today((request) => request.token === "t1"),
	];
	expect(
		budgets.map(({ spentMicroNeurons: spent, reservedMicroNeurons: reserved }) => ({ spent, reserved })),
	).toEqual(expected);
	for (const { microNeurons, spentMicroNeurons, reservedMicroNeurons } of budgets)
		expect(spentMicroNeurons + reservedMicroNeurons).toBeLessThanOrEqual(microNeurons);
	expect(rates.map(({ used }) => used)).toEqual([
		model.lastMinute((request) => request.model === MODELS[0]),
		model.lastMinute((request) => request.model !== MODELS[0]),
		model.lastMinute((request) => request.token === "t1"),
	]);
	const { requests } = ledger.requests({ limit: 100 });
	const open = model.requests.filter(({ outcome }) => !outcome).reverse();
	const settled = model.requests
		.filter(({ outcome }) => outcome)
		.sort((one, other) => (other.settledAs ?? 0) - (one.settledAs ?? 0));
	expect(requests.map(({ ticket, outcome, microNeurons }) => [ticket, outcome, microNeurons])).toEqual(
		[...open, ...settled].map(({ ticket, outcome = "open", microNeurons }) => [
			ticket,
			outcome,
			microNeurons,
		]),
	);
	expect(ledger.usage({ by: [] }).total).toMatchObject({
		requests: settled.length,
		failed: settled.filter(({ outcome }) => outcome === "failed").length,
		microNeurons: settled.reduce((sum, { microNeurons }) => sum + microNeurons, 0),
	});
}
