/**
 * Holds the ledger against what the engine gave and what the callers saw, request by request. A request that was let in
 * has one row, and the row is the truth:
 *
 * - `ok`: exactly what the engine gave of its last call.
 * - `cancelled`, `interrupted`: between what the caller has and what the engine gave; within one chunk of both where they kept step.
 * - `failed`: nothing is billed, and the caller was told so.
 * - `expired`: what was reserved; only where the Worker was killed under it, or before it could deliver the settlement.
 *
 * A request that was not let in has none. An engine may have been called before the account's decision, in vain, and no
 * more often than the route allows: then the account refused or could not be reached, and the caller got no answer. A
 * caller who left before the headers proves none of that: an answer that the engine had finished before is billed, or an
 * account with limits may have refused it, or its object had failed.
 */
import { type Bill, billOf, costOf, isIn, reservedFor } from "./books.ts";
import { type Heard, lastOf } from "./caller.ts";
import type { EngineCall } from "./engine.ts";
import { type Kill, micro, type ObjectFault, type Row, type Totals } from "./gateway.ts";
import type { Planned } from "./plan.ts";
import type { Question } from "./question.ts";
import { mostCallsOf, SILENCE_MS } from "./settings.ts";

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
	"cancelled",
	"cancelledRunning",
	"cancelledBefore",
	"interrupted",
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

/** A settlement waits this long for others before it is delivered (100 ms), and is then on its way. */
const UNDELIVERED_MS = 500;
/** The same where a call of the account's object failed: the waits after each failure are 0.4, 1.6 and 6.4 seconds. */
const RETRIED_MS = 10_000;
/** Codes and statuses of a request that is not let in: rates, budgets, the free allocation, an object that fails. */
const NOT_LET_IN = [
	{ code: 3021, status: 429 },
	{ code: 3036, status: 429 },
	{ code: 4006, status: 429 },
	{ code: 7009, status: 502 },
] as const;
/** From an engine's whole answer to its settlement. */
const READ_MS = 250;
/** The clocks of two processes. */
const SLACK_MS = 5;

/** What befell the gateway in a run. */
export interface Circumstances {
	kills: readonly Kill[];
	objectFaults: readonly ObjectFault[];
	/** Milliseconds after which the gateway ends a request by itself. */
	totalMs: number;
	/** Whether an account has limits, so that it may refuse. */
	isLimited(account: string): boolean;
}

export class Audit {
	readonly #circumstances: Circumstances;
	readonly #verdict: Verdict = {
		violations: [],
		tallies: Object.fromEntries(CLASSES.map((name) => [name, emptyTally()])) as Record<Class, Tally>,
		refusals: new Map(),
		lostMs: 0,
	};

	constructor(circumstances: Circumstances) {
		this.#circumstances = circumstances;
	}

	account({ account, rows, totals }: AccountBooks, evidence: readonly Evidence[]): void {
		const claims = claim(evidence, rows);
		const claimed = new Set([...claims.values()]);
		for (const row of rows)
			if (!claimed.has(row))
				this.#violates(`a row of ${account} is nobody's, or a second of somebody's`, undefined, [row]);
		for (const each of evidence) this.#judge(each, claims.get(each));
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

	#judge(evidence: Evidence, row: Row | undefined): void {
		const { calls, heard, planned, question } = evidence;
		const problems: string[] = [];
		const refuse = (what: string) => problems.push(what);
		const underKill = this.#killed(heard, 0);
		if ((heard.end === "broken" || heard.end === "unreachable") && !underKill)
			refuse("its connection broke, although nobody was killed");
		const most = mostCallsOf(planned.door) * (wasGrantedLess(calls) ? 2 : 1);
		if (calls.length > most) refuse(`engines were called ${calls.length} times, the route allows ${most}`);
		if (heard.end === "left" && heard.status === undefined) this.#judgeCancelledBefore(evidence, row, refuse);
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
			this.#judgeRow(evidence, row, refuse);
		}
		if (heard.end === "complete" && heard.status === 200 && !heard.errorFrame) {
			const said = calls.findLast(({ whole }) => whole);
			if (!said) refuse("the caller has a whole answer that no engine gave");
			else if (planned.door !== "embed" && !isSequence(heard.tokens, said.outputTokens))
				refuse(`the caller has the tokens ${heard.tokens.join(" ")}, the engine gave ${said.outputTokens}`);
		}
		for (const what of problems) this.#violates(what, evidence, row ? [row] : []);
	}

	/** Of a caller who left before the headers: what the engine had finished by then is billed. */
	#judgeCancelledBefore(
		{ calls, heard, planned }: Evidence,
		row: Row | undefined,
		refuse: (what: string) => void,
	) {
		const finished = calls.find(
			({ closedAt = Number.POSITIVE_INFINITY, whole }) => whole && closedAt < heard.endedAt - READ_MS,
		);
		if (!finished || (row && row.outcome !== "failed")) return;
		const { account } = planned;
		const mayRefuse =
			this.#circumstances.isLimited(account) ||
			this.#killed(heard, 0) ||
			this.#objectFailed(account, heard.startedAt, heard.endedAt + UNDELIVERED_MS);
		if (!mayRefuse)
			refuse("its caller left before the headers, the engine had finished, and it is not billed");
	}

	#judgeRow(evidence: Evidence, row: Row, refuse: (what: string) => void): void {
		const { calls, heard, planned, question } = evidence;
		const last = calls.at(-1);
		const billed = micro(row.neurons);
		if (row.outcome !== "expired" && billed !== costOf(row.model, row))
			refuse(`its tokens cost ${costOf(row.model, row)} micro-neurons, it is billed ${billed}`);
		switch (row.outcome) {
			case "ok": {
				if (!last?.whole) refuse("it was booked as answered, but the engine's answer was not whole");
				const bill = billOf(planned, question.prompt, {
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
				if (row.attempts !== calls.length)
					refuse(`its row has ${row.attempts} attempts, engines were called ${calls.length} times`);
				const passed = last?.outputTokens ?? 0;
				if (heard.end === "left" && heard.status === undefined)
					this.#count("cancelledBefore", passed, bill.estimated ? passed : row.output_tokens, billed);
				else if (!bill.estimated)
					this.#count("told", planned.promptTokens + passed, row.input_tokens + row.output_tokens, billed);
				else if (planned.stream && planned.tokensPerEvent === 1)
					this.#count("counted", passed, row.output_tokens, billed);
				else this.#count("estimated", passed, row.output_tokens, billed);
				return;
			}
			case "cancelled":
			case "interrupted": {
				if (!planned.stream) refuse("only a stream can be cancelled or interrupted");
				if (row.outcome === "cancelled" && heard.end === "complete") refuse("the caller had not left");
				if (row.outcome === "interrupted" && last?.whole && row.latency_ms < this.#circumstances.totalMs)
					refuse("it was booked as interrupted, but the engine's answer was whole");
				if (row.outcome === "interrupted" && heard.end === "complete" && !heard.errorFrame)
					refuse("it was booked as interrupted, but the caller's answer was whole");
				this.#judgePart(evidence, row, refuse);
				return;
			}
			case "failed": {
				if (billed !== 0 || row.input_tokens + row.output_tokens > 0) refuse("a failure was billed");
				if (heard.status === 200) refuse("it was booked as failed, but the caller was answered");
				const told = codeIn(heard);
				// Asked ahead of a word that did not come.
				const unheard = wasNotLetIn(heard);
				if (
					heard.end === "complete" &&
					last?.whole &&
					!last.abandoned &&
					!unheard &&
					!wasSilent(evidence, row)
				)
					refuse("it was booked as failed, but the engine had answered");
				if (heard.end === "complete" && planned.door !== "messages" && told !== undefined)
					if (Number(told) !== row.code) refuse(`the caller was told ${told}, the row has ${row.code}`);
				this.#count("failed", 0, 0, billed);
				return;
			}
			case "expired": {
				const kill = this.#lostWith(evidence);
				if (kill) this.#verdict.lostMs = Math.max(this.#verdict.lostMs, kill.at - heard.endedAt);
				else refuse("it expired, although no kill lost its settlement");
				if (row.neurons !== row.reserved_neurons) refuse("it expired at another price than was reserved");
				this.#count("expired", last?.outputTokens ?? 0, 0, billed);
				return;
			}
			default:
				refuse(`it is ${row.outcome}`);
		}
	}

	/** A stream that ended early: the ledger has what passed, which nobody else knows better than to a chunk. */
	#judgePart(evidence: Evidence, row: Row, refuse: (what: string) => void): void {
		const { calls, heard, planned, question } = evidence;
		const most = Math.max(0, ...calls.map((call) => eventsOf(call, planned)));
		const least = Math.floor(lastOf(heard.tokens) / planned.tokensPerEvent);
		const maxTokens = grantOf(calls);
		const { leaving } = planned;
		const inStep = row.outcome === "cancelled" && leaving.when === "during" && leaving.inStep;
		const broken = calls.at(-1)?.fault;
		const bills = Array.from({ length: Math.max(0, most - least) + 1 }, (_, i) => ({
			events: least + i,
			bill: billOf(planned, question.prompt, { events: least + i, whole: false, maxTokens }),
		}));
		if (calls.some(({ whole }) => whole))
			bills.push({
				events: most,
				bill: billOf(planned, question.prompt, { events: most, whole: true, maxTokens }),
			});
		const name: Class =
			row.outcome === "interrupted" ? "interrupted" : inStep ? "cancelled" : "cancelledRunning";
		const fits = bills.findLast(({ bill }) => differences(row, bill).length === 0);
		if (!fits) {
			const nearest = bills.at(-1)?.bill;
			refuse(
				`billed ${row.output_tokens} of output, but ${least} to ${most} events passed` +
					(nearest ? `: ${differences(row, nearest).join(", ")}` : ""),
			);
			this.#count(name, 0, row.output_tokens, micro(row.neurons));
			return;
		}
		const apart = most - fits.events;
		if (inStep && apart > 1) refuse(`billed ${fits.events} events of the ${most} that the engine gave`);
		// All that came before an end that was not its end has been read, and was passed on while the caller stayed.
		const readToEnd = broken && broken !== "torn" && row.latency_ms < this.#circumstances.totalMs;
		if (row.outcome === "interrupted" && heard.end === "complete" && readToEnd && apart > 0)
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
		return this.#circumstances.kills.find(
			({ at, upAt }) => startedAt <= upAt + SLACK_MS && at <= endedAt + undeliveredMs + SLACK_MS,
		);
	}

	/** The kill that took its settlement along: the request had begun, and had ended no longer ago than delivery takes. */
	#lostWith({ calls, heard, planned }: Evidence): Kill | undefined {
		const startedAt = calls[0]?.openedAt ?? heard.startedAt;
		// A caller who has left does not end the call of the engine before its headers.
		const endedAt = Math.max(heard.endedAt, ...calls.map(({ closedAt = 0 }) => closedAt));
		return this.#circumstances.kills.find(({ at }) => {
			if (startedAt > at + SLACK_MS) return false;
			const failed = this.#objectFailed(planned.account, startedAt, at);
			return at <= endedAt + (failed ? RETRIED_MS : UNDELIVERED_MS) + SLACK_MS;
		});
	}

	#objectFailed(account: string, from: number, until: number): boolean {
		return this.#circumstances.objectFaults.some(
			(fault) => fault.account === account && fault.at >= from - SLACK_MS && fault.at <= until + SLACK_MS,
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

const SILENT_CODE = 3007;

/**
 * The gateway gave up an engine that was silent for its time. On a slow machine the engine may answer in that moment: it
 * shares its process with the callers, and takes a call late.
 */
function wasSilent({ calls, heard }: Evidence, { code }: Row): boolean {
	const since = Math.max(heard.startedAt, ...calls.slice(0, -1).map(({ closedAt = 0 }) => closedAt));
	return code === SILENT_CODE && heard.endedAt - since >= SILENCE_MS;
}

/** Anthropic's dialect has words and no codes. */
function wasNotLetIn(heard: Heard): boolean {
	const code = codeIn(heard);
	return NOT_LET_IN.some((failure) =>
		code === undefined ? failure.status === heard.status : failure.code === Number(code),
	);
}

/** The account granted less output than was expected, so the engine was called again with that. */
const wasGrantedLess = (calls: readonly EngineCall[]): boolean =>
	new Set(calls.map(({ maxTokens }) => maxTokens)).size > 1;

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
		[...left].find((row) => row.model === each.question.model && matches(row));
	const byId = new Map(rows.map((row) => [row.id, row]));
	for (const each of evidence) if (each.heard.id !== undefined) take(each, byId.get(each.heard.id));
	const unclaimed = evidence.filter(({ heard }) => heard.id === undefined);
	for (const each of unclaimed) {
		const { calls, question } = each;
		const granted = Math.min(grantOf(calls), question.cost.outputTokens);
		const reserved = new Set([question.reserved, reservedFor(question.cost, granted)]);
		take(
			each,
			find(each, (row) => reserved.has(micro(row.reserved_neurons))),
		);
	}
	for (const each of unclaimed)
		if (each.question.cost.outputUnbounded && each.calls.length === 0)
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
	const found: string[] = [];
	const { inputTokens, outputTokens } = bill;
	for (const [name, value, range] of [
		["input", row.input_tokens, inputTokens],
		["output", row.output_tokens, outputTokens],
	] as const)
		if (!isIn(range, value))
			found.push(
				`${name} tokens ${value} instead of ${[...new Set([range.least, range.most])].join(" to ")}`,
			);
	if (row.cached_tokens !== bill.cachedTokens)
		found.push(`cached tokens ${row.cached_tokens} instead of ${bill.cachedTokens}`);
	if (row.estimated !== bill.estimated) found.push(`estimated ${row.estimated} instead of ${bill.estimated}`);
	return found;
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
