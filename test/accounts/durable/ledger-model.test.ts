/**
 * The ledger against the plainest account that could be kept: a list of requests, searched anew for every answer.
 * Whatever happens in whatever order, restarts and clocks that go back among it, both say the same.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Admission, Admitted, Outcome, Settlement } from "../../../src/accounts/admission.ts";
import { Ledger } from "../../../src/accounts/durable/ledger.ts";
import { NOON, onBench, settlement, TASK } from "../ask.ts";

const MODELS = ["@cf/a/one", "@cf/a/two"];
const TOKENS = [undefined, { id: "t1", limits: { dailyMicroNeurons: 700, requestsPerMinute: 4 } }];
const ACCOUNT_BUDGET = 1_500;
const MODEL_BUDGET = 900;
const MODEL_RATE = 3;
const TASK_RATE = 5;

interface Entry {
	ticket: string;
	at: number;
	model: string;
	token: string;
	reserved: number;
	holdMs: number;
	expiresAt: number;
	/** In the rate windows. One that was admitted while the clock was ahead is not, until they are rebuilt. */
	counted: boolean;
	outcome?: Outcome;
	settledAt?: number;
	fact: number;
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

class Model {
	readonly entries: Entry[] = [];
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

	/** What is kept in memory, from what is written. */
	#rebuild(): void {
		const now = this.latest;
		this.day = dayOf(now);
		for (const entry of this.entries) {
			entry.counted = entry.at > now - 60_000 && entry.at <= now;
			entry.expiresAt = Math.min(entry.at, now) + entry.holdMs;
		}
	}

	/** Only what is written survives. */
	restart(): void {
		this.latest = Math.max(0, ...this.entries.flatMap(({ at, settledAt = 0 }) => [at, settledAt]));
		this.day = "";
	}

	today(of: (entry: Entry) => boolean): { spent: number; reserved: number } {
		const entries = this.entries.filter((entry) => dayOf(entry.at) === dayOf(this.now) && of(entry));
		const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
		return {
			spent: sum(entries.filter(({ outcome }) => outcome).map(({ fact }) => fact)),
			reserved: sum(entries.filter(({ outcome }) => !outcome).map(({ reserved }) => reserved)),
		};
	}

	lastMinute(of: (entry: Entry) => boolean): number {
		const { now } = this;
		return this.entries.filter((entry) => entry.counted && entry.at > now - 60_000 && of(entry)).length;
	}

	/** What may be answered, found by trying every number of tokens. */
	admit(asked: Admission, token: string): Admitted["ok"] {
		const { model, worth } = asked;
		const ofModel = (entry: Entry): boolean => entry.model === model;
		const ofToken = (entry: Entry): boolean => entry.token === token;
		if (model === MODELS[0] && this.lastMinute(ofModel) >= MODEL_RATE) return false;
		if (model !== MODELS[0] && this.lastMinute((entry) => !(entry.model === MODELS[0])) >= TASK_RATE)
			return false;
		if (token && this.lastMinute(ofToken) >= 4) return false;
		const rooms = [this.#room(() => true, ACCOUNT_BUDGET)];
		if (model === MODELS[0]) rooms.push(this.#room(ofModel, MODEL_BUDGET));
		if (token) rooms.push(this.#room(ofToken, 700));
		const room = Math.min(...rooms);
		let tokens = worth.outputTokens;
		const cost = (): number => worth.fixedMicroNeurons + worth.microNeuronsPerOutputToken * tokens;
		while (worth.open && tokens > 1 && cost() > room) tokens--;
		if (cost() > room) return false;
		this.entries.push({
			ticket: asked.ticket,
			at: this.now,
			model,
			token,
			reserved: cost(),
			holdMs: asked.holdMs,
			expiresAt: this.now + asked.holdMs,
			counted: true,
			fact: 0,
		});
		return true;
	}

	settle({ ticket, outcome, microNeurons }: Settlement): void {
		const entry = this.entries.find((other) => other.ticket === ticket);
		if (!entry || entry.outcome) return;
		entry.outcome = outcome;
		entry.settledAt = this.now;
		entry.fact = outcome === "failed" ? 0 : microNeurons;
	}

	expire(): void {
		for (const entry of this.entries)
			if (!entry.outcome && entry.expiresAt <= this.now)
				Object.assign(entry, { outcome: "expired", settledAt: this.now, fact: entry.reserved });
	}

	#room(of: (entry: Entry) => boolean, budget: number): number {
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
			open: fc.boolean(),
			holdMs: fc.constantFrom(1_000, 60_000, 3_600_000),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			kind: fc.constant("settle" as const),
			// Which of the requests so far, and which share of its reservation it used.
			which: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 100 })), {
				maxLength: 5,
			}),
			outcome: fc.constantFrom<Outcome>("ok", "failed", "cut", "left"),
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

describe("the ledger and its model", () => {
	// Each correction of the clock is logged.
	beforeAll(() => {
		const log = vi.spyOn(console, "error").mockImplementation(() => {});
		return () => log.mockRestore();
	});

	it(
		"agree after any operations",
		() =>
			onBench(({ storage }) => {
				fc.assert(
					fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
						storage.sql.exec("DROP TABLE IF EXISTS requests; DROP TABLE IF EXISTS usage");
						const model = new Model();
						const open = (): Ledger => new Ledger(storage, () => model.clock);
						let ledger = open();
						let tickets = 0;
						for (const step of steps) {
							switch (step.kind) {
								case "admit": {
									const id = MODELS[step.model] ?? "";
									const bearer = TOKENS[step.token];
									const asked = ask(id, `ticket-${++tickets}`, step);
									const { would } = ledger.standing({ ...asked, asked }, bearer);
									const admitted = ledger.admit(asked, bearer);
									expect(would).toEqual(admitted);
									expect(admitted.ok).toBe(model.admit(asked, bearer?.id ?? ""));
									if (admitted.ok) {
										const { reserved } = model.entries.at(-1) ?? {};
										const { fixed, perToken, tokens } = step;
										expect(fixed + perToken * (admitted.outputTokens ?? tokens)).toBe(reserved);
									}
									break;
								}
								case "settle": {
									const batch = step.which.flatMap(([place, share]) => {
										const entry = model.entries[Math.floor(place * (model.entries.length - 1))];
										if (!entry) return [];
										const microNeurons = Math.floor((entry.reserved * share) / 100);
										return [settlement(entry.ticket, { outcome: step.outcome, microNeurons })];
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
						// Whatever the last operation was.
						model.restart();
						expectSame(open(), model);
					}),
					{ numRuns: 50 },
				);
			}),
		60_000,
	);
});

function ask(
	model: string,
	ticket: string,
	{
		fixed,
		perToken,
		tokens,
		open,
		holdMs,
	}: { fixed: number; perToken: number; tokens: number; open: boolean; holdMs: number },
): Admission {
	const first = model === MODELS[0];
	return {
		ticket,
		credential: { kind: "operator" },
		model,
		task: TASK,
		// As the pipeline has it: a model's own rate stands instead of its task's.
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
		worth: { fixedMicroNeurons: fixed, microNeuronsPerOutputToken: perToken, outputTokens: tokens, open },
		holdMs,
	};
}

const stateOf = (ledger: Ledger) => {
	const query = ask(MODELS[0] ?? "", "", { fixed: 0, perToken: 0, tokens: 0, open: false, holdMs: 0 });
	return ledger.standing(
		{ ...query, rates: [...query.rates, { key: `task:${TASK}`, perMinute: TASK_RATE }] },
		TOKENS[1],
	);
};

function expectSame(ledger: Ledger, model: Model): void {
	const { day, open, budgets, rates } = stateOf(ledger);
	expect(day).toBe(dayOf(model.now));
	expect(open).toBe(model.entries.filter(({ outcome }) => !outcome).length);
	const expected = [
		model.today(() => true),
		model.today((entry) => entry.model === MODELS[0]),
		model.today((entry) => entry.token === "t1"),
	];
	expect(
		budgets.map(({ spentMicroNeurons: spent, reservedMicroNeurons: reserved }) => ({ spent, reserved })),
	).toEqual(expected);
	for (const { microNeurons, spentMicroNeurons, reservedMicroNeurons } of budgets)
		expect(spentMicroNeurons + reservedMicroNeurons).toBeLessThanOrEqual(microNeurons);
	expect(rates.map(({ used }) => used)).toEqual([
		model.lastMinute((entry) => entry.model === MODELS[0]),
		model.lastMinute((entry) => entry.model !== MODELS[0]),
		model.lastMinute((entry) => entry.token === "t1"),
	]);
	const { requests } = ledger.requests({ limit: 100 });
	expect(requests.map(({ ticket, outcome, microNeurons }) => [ticket, outcome, microNeurons])).toEqual(
		model.entries.map(({ ticket, outcome = "open", fact }) => [ticket, outcome, fact]).reverse(),
	);
	const settled = model.entries.filter(({ outcome }) => outcome);
	expect(ledger.usage({ by: [] }).total).toMatchObject({
		requests: settled.length,
		failed: settled.filter(({ outcome }) => outcome === "failed").length,
		microNeurons: settled.reduce((sum, { fact }) => sum + fact, 0),
	});
}
