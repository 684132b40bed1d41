/**
 * Holds the ledger against what the engine gave and what the callers saw, request by request. A request that was let in
 * has one row, and the row is the truth:
 *
 * - `ok`: exactly what the engine gave of its last call.
 * - `left`, `cut`: between what the caller has and what the engine gave; within one chunk of both where they kept step.
 * - `failed`: nothing is billed, and the caller was told so.
 * - `expired`: what was reserved; only where the Worker was killed under it.
 *
 * A request that was not let in has none. An engine may have been asked ahead of the account's word, in vain: then the
 * account said no, or nobody heard what it said, and the caller has nothing of the answer.
 */
import { FAILURES } from "../src/errors.ts";
import { type Heard, lastOf } from "./caller.ts";
import type { EngineCall } from "./engine.ts";
import { type Kill, micro, type Row, type Totals } from "./gateway.ts";
import type { Planned } from "./plan.ts";
import { type Bill, billOf, type Question, reservedFor } from "./question.ts";

export interface Evidence {
	planned: Planned;
	question: Question;
	heard: Heard;
	calls: readonly EngineCall[];
}

export interface AccountBooks {
	account: string;
	rows: readonly Row[];
	totals: Totals;
}

export interface Violation {
	what: string;
	evidence?: Evidence;
	rows: readonly Row[];
}

/** Where requests and tokens ended up. */
export const CLASSES = [
	"told",
	"counted",
	"estimated",
	"left",
	"leftRunning",
	"cut",
	"failed",
	"expired",
	"refused",
	"inVain",
] as const;
export type Class = (typeof CLASSES)[number];

export interface Tally {
	requests: number;
	engineTokens: number;
	ledgerTokens: number;
	/** Of one request, in tokens of output; of streams that kept step with their caller, in chunks. */
	mostApart: number;
	microNeurons: number;
}

export interface Verdict {
	violations: Violation[];
	tallies: Record<Class, Tally>;
	/** Of the requests that were not let in: what their callers were told, and how many were. */
	refusals: Map<string, number>;
	/** Of those that expired: how long before the kill the last byte of the answer had come, at most. */
	lostMs: number;
}

/**
 * A settlement that a killed Worker had not delivered yet, although the answer had ended: it waits 100 ms for company,
 * and where the object fails, longer.
 */
const UNDELIVERED_MS = 10_000;
/** What the account, or who asks it, says to a request that it does not let in. */
const NOT_LET_IN = (
	["accountLimited", "budgetExceeded", "freeAllocationUsed", "ledgerUnavailable", "rateLimited"] as const
).map((key) => FAILURES[key]);
/** The clocks of two processes. */
const SLACK_MS = 5;

export class Audit {
	readonly #kills: readonly Kill[];
	readonly #totalMs: number;
	readonly #verdict: Verdict = {
		violations: [],
		tallies: Object.fromEntries(CLASSES.map((name) => [name, emptyTally()])) as Record<Class, Tally>,
		refusals: new Map(),
		lostMs: 0,
	};

	/** @param totalMs after which the gateway ends a call of an engine by itself. */
	constructor(kills: readonly Kill[], totalMs: number) {
		this.#kills = kills;
		this.#totalMs = totalMs;
	}

	async account({ account, rows, totals }: AccountBooks, evidence: readonly Evidence[]): Promise<void> {
		const claims = claim(evidence, rows);
		const claimed = new Set([...claims.values()]);
		for (const row of rows)
			if (!claimed.has(row))
				this.#violates(`a row of ${account} is nobody's, or a second of somebody's`, undefined, [row]);
		for (const each of evidence) await this.#judge(each, claims.get(each));
		const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
		const settled = rows.filter(({ outcome }) => outcome !== "open");
		const differs = [
			["requests", settled.length, totals.requests],
			["failed", settled.filter(({ outcome }) => outcome === "failed").length, totals.failed],
			["input tokens", sum((row) => row.input_tokens), totals.input_tokens],
			["output tokens", sum((row) => row.output_tokens), totals.output_tokens],
			["micro-neurons", sum((row) => micro(row.neurons)), micro(totals.neurons)],
		].filter(([, a, b]) => a !== b);
		for (const [name, a, b] of differs)
			this.#violates(`${account}: ${name} of its rows are ${a}, of its usage ${b}`);
	}

	close(): Verdict {
		return this.#verdict;
	}

	async #judge(evidence: Evidence, row: Row | undefined): Promise<void> {
		const { calls, heard, planned, question } = evidence;
		const problems: string[] = [];
		const refuse = (what: string) => problems.push(what);
		const underKill = this.#killed(heard, 0);
		if ((heard.end === "broken" || heard.end === "unreachable") && !underKill)
			refuse("its connection broke, although nobody was killed");
		if (!row) {
			const inVain = underKill || heard.end === "left" || wasNotLetIn(heard);
			if (calls.length > 0 && (heard.status === 200 || !inVain))
				refuse("an engine was asked, but nothing was booked");
			if (heard.status === 200) refuse("it was answered, but nothing was booked");
			this.#count(calls.length > 0 ? "inVain" : "refused", 0, 0, 0);
			const { refusals } = this.#verdict;
			const told = heard.end === "complete" ? (codeIn(heard) ?? `HTTP ${heard.status}`) : heard.end;
			refusals.set(told, (refusals.get(told) ?? 0) + 1);
		} else {
			if (micro(row.reserved_neurons) > question.reserved) refuse("more was reserved than it could cost");
			if (row.neurons > row.reserved_neurons) refuse("it cost more than was reserved for it");
			await this.#judgeRow(evidence, row, refuse);
		}
		if (heard.end === "complete" && heard.status === 200 && !heard.errorFrame) {
			const said = calls.findLast(({ whole }) => whole);
			if (!said) refuse("the caller has a whole answer that no engine gave");
			else if (planned.door !== "embed" && !isSequence(heard.tokens, said.outputTokens))
				refuse(`the caller has the tokens ${heard.tokens.join(" ")}, the engine gave ${said.outputTokens}`);
		}
		for (const what of problems) this.#violates(what, evidence, row ? [row] : []);
	}

	async #judgeRow(evidence: Evidence, row: Row, refuse: (what: string) => void): Promise<void> {
		const { calls, heard, planned, question } = evidence;
		const last = calls.at(-1);
		const billed = micro(row.neurons);
		switch (row.outcome) {
			case "ok": {
				if (!last?.whole) refuse("it was booked as answered, but the engine's answer was not whole");
				const bill = await billOf(planned, question, {
					events: eventsOf(last, planned),
					whole: true,
					maxTokens: grantOf(calls),
				});
				differences(row, bill).forEach(refuse);
				if (heard.neurons !== undefined && Number(heard.neurons) !== Math.floor(billed / 10_000) / 100)
					refuse(`the caller was told of ${heard.neurons} neurons`);
				if (heard.end === "complete" && heard.status !== 200)
					refuse("it was booked as answered, but the caller was refused");
				if (heard.errorFrame) refuse("it was booked as answered, but the caller's stream ended in an error");
				const passed = last?.outputTokens ?? 0;
				if (!bill.estimated)
					this.#count("told", planned.promptTokens + passed, row.input_tokens + row.output_tokens, billed);
				else if (planned.stream && planned.tokensPerEvent === 1)
					this.#count("counted", passed, row.output_tokens, billed);
				else this.#count("estimated", passed, row.output_tokens, billed);
				return;
			}
			case "left":
			case "cut": {
				if (!planned.stream) refuse("a whole answer cannot be left or cut");
				if (row.outcome === "left" && heard.end === "complete") refuse("the caller had not left");
				if (row.outcome === "cut" && last?.whole && row.latency_ms < this.#totalMs)
					refuse("it was booked as cut, but the engine's answer was whole");
				if (row.outcome === "cut" && heard.end === "complete" && !heard.errorFrame)
					refuse("it was booked as cut, but the caller's answer was whole");
				await this.#judgePart(evidence, row, refuse);
				return;
			}
			case "failed": {
				if (billed !== 0 || row.input_tokens + row.output_tokens > 0) refuse("a failure was billed");
				if (heard.status === 200) refuse("it was booked as failed, but the caller was answered");
				const told = codeIn(heard);
				// Asked ahead of a word that did not come.
				const unheard = wasNotLetIn(heard);
				if (heard.end === "complete" && last?.whole && !last.abandoned && !unheard)
					refuse("it was booked as failed, but the engine had answered");
				if (heard.end === "complete" && planned.door !== "messages" && told !== undefined)
					if (Number(told) !== row.code) refuse(`the caller was told ${told}, the row has ${row.code}`);
				this.#count("failed", 0, 0, billed);
				return;
			}
			case "expired": {
				const kill = this.#killed(heard, UNDELIVERED_MS);
				if (!kill) refuse("it expired, although nobody was killed");
				else this.#verdict.lostMs = Math.max(this.#verdict.lostMs, kill.at - heard.endedAt);
				if (row.neurons !== row.reserved_neurons) refuse("it expired at another price than was reserved");
				this.#count("expired", last?.outputTokens ?? 0, 0, billed);
				return;
			}
			default:
				refuse(`it is ${row.outcome}`);
		}
	}

	/** A stream that ended early: the ledger has what passed, which nobody else knows better than to a chunk. */
	async #judgePart(evidence: Evidence, row: Row, refuse: (what: string) => void): Promise<void> {
		const { calls, heard, planned, question } = evidence;
		const most = Math.max(0, ...calls.map((call) => eventsOf(call, planned)));
		const least = Math.floor(lastOf(heard.tokens) / planned.tokensPerEvent);
		const maxTokens = grantOf(calls);
		const { leaving } = planned;
		const inStep = row.outcome === "left" && leaving.when === "during" && leaving.inStep;
		const broken = calls.at(-1)?.fault;
		const bills = await Promise.all(
			Array.from({ length: Math.max(0, most - least) + 1 }, async (_, i) => ({
				events: least + i,
				bill: await billOf(planned, question, { events: least + i, whole: false, maxTokens }),
			})),
		);
		if (calls.some(({ whole }) => whole))
			bills.push({
				events: most,
				bill: await billOf(planned, question, { events: most, whole: true, maxTokens }),
			});
		const name: Class = row.outcome === "cut" ? "cut" : inStep ? "left" : "leftRunning";
		const fits = bills.findLast(({ bill }) => differences(row, bill).length === 0);
		if (!fits) {
			const nearest = bills.at(-1)?.bill;
			refuse(
				`billed ${row.output_tokens} of output, but ${least} to ${most} events passed` +
					(nearest ? `: ${differences(row, nearest).join(", ")}` : ""),
			);
			return this.#count(name, 0, row.output_tokens, micro(row.neurons));
		}
		const apart = most - fits.events;
		if (inStep && apart > 1) refuse(`billed ${fits.events} events of the ${most} that the engine gave`);
		// All that came before an end that was not its end has been read, and was passed on while the caller stayed.
		const readToEnd = broken && broken !== "torn" && row.latency_ms < this.#totalMs;
		if (row.outcome === "cut" && heard.end === "complete" && readToEnd && apart > 0)
			refuse(`billed ${fits.events} events of the ${most} that the engine gave before it broke off`);
		// A chunk of several tokens is told apart by our own count of its text.
		const exact = !fits.bill.estimated || planned.tokensPerEvent === 1;
		this.#count(
			name,
			exact ? most * planned.tokensPerEvent : row.output_tokens + apart * planned.tokensPerEvent,
			row.output_tokens,
			micro(row.neurons),
			apart,
		);
	}

	#killed({ endedAt, startedAt }: Heard, undeliveredMs: number): Kill | undefined {
		return this.#kills.find(
			({ at, upAt }) => startedAt <= upAt + SLACK_MS && at <= endedAt + undeliveredMs + SLACK_MS,
		);
	}

	#count(name: Class, engine: number, ledger: number, microNeurons: number, apart = engine - ledger): void {
		const tally = this.#verdict.tallies[name];
		tally.requests++;
		tally.engineTokens += engine;
		tally.ledgerTokens += ledger;
		tally.microNeurons += microNeurons;
		if (name !== "expired") tally.mostApart = Math.max(tally.mostApart, Math.abs(apart));
	}

	#violates(what: string, evidence?: Evidence, rows: readonly Row[] = []): void {
		this.#verdict.violations.push({ what, ...(evidence && { evidence }), rows });
	}
}

/** Anthropic's dialect has words and no codes. */
function wasNotLetIn(heard: Heard): boolean {
	const code = codeIn(heard);
	return NOT_LET_IN.some((failure) =>
		code === undefined ? failure.status === heard.status : failure.code === Number(code),
	);
}

const codeIn = ({ body = "" }: Heard): string | undefined => /"code":\s*(\d+)/.exec(body)?.[1];

const emptyTally = (): Tally => ({
	requests: 0,
	engineTokens: 0,
	ledgerTokens: 0,
	mostApart: 0,
	microNeurons: 0,
});

/**
 * Whose row it is: by the id that the caller was told, else by what was reserved, which is no other request's of that
 * account and model. One whose limit was left open may have been granted less: then its engine was told how much, or
 * there was none and nothing but a failure or an expiry can be its end.
 */
function claim(evidence: readonly Evidence[], rows: readonly Row[]): Map<Evidence, Row> {
	const claims = new Map<Evidence, Row>();
	const left = new Set(rows);
	const take = (each: Evidence, row: Row | undefined) => {
		if (!row || claims.has(each)) return;
		claims.set(each, row);
		left.delete(row);
	};
	const find = (each: Evidence, matches: (row: Row) => boolean): Row | undefined =>
		[...left].find((row) => row.model === each.question.model.id && matches(row));
	const byId = new Map(rows.map((row) => [row.id, row]));
	for (const each of evidence) if (each.heard.id !== undefined) take(each, byId.get(each.heard.id));
	const unclaimed = evidence.filter(({ heard }) => heard.id === undefined);
	for (const each of unclaimed) {
		const { calls, question } = each;
		const granted = Math.min(grantOf(calls), question.worth.outputTokens);
		const reserved = new Set([question.reserved, reservedFor(question.worth, granted)]);
		take(
			each,
			find(each, (row) => reserved.has(micro(row.reserved_neurons))),
		);
	}
	for (const each of unclaimed)
		if (each.question.worth.open && each.calls.length === 0)
			take(
				each,
				find(
					each,
					(row) =>
						micro(row.reserved_neurons) < each.question.reserved &&
						(row.outcome === "failed" || row.outcome === "expired"),
				),
			);
	return claims;
}

/** Tokens of output; infinite where no engine was asked, or it was told of no limit. */
const grantOf = (calls: readonly EngineCall[]): number => calls[0]?.maxTokens ?? Number.POSITIVE_INFINITY;

const eventsOf = (call: EngineCall | undefined, { door }: Planned): number =>
	call && door !== "embed" ? call.events : 0;

function differences(row: Row, bill: Bill): string[] {
	const pairs: [string, unknown, unknown][] = [
		["input tokens", row.input_tokens, bill.inputTokens],
		["cached tokens", row.cached_tokens, bill.cachedTokens],
		["output tokens", row.output_tokens, bill.outputTokens],
		["micro-neurons", micro(row.neurons), bill.microNeurons],
		["estimated", row.estimated, bill.estimated],
	];
	return pairs.filter(([, a, b]) => a !== b).map(([name, a, b]) => `${name} ${a} instead of ${b}`);
}

/** 1, 2, 3 … `length`; some dialects say all again at the end. */
function isSequence(tokens: readonly number[], length: number): boolean {
	if (length === 0) return tokens.length === 0;
	return (
		tokens.length % length === 0 &&
		tokens.length > 0 &&
		tokens.every((token, i) => token === (i % length) + 1)
	);
}
