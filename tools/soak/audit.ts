/**
 * Compares the ledger with the engine's records and the callers' records, request by request. An admitted request has one row. The row must have:
 *
 * - `ok`: exactly the usage of the engine's last call.
 * - `cancelled`, `interrupted`: a usage between the caller's part and the engine's part. If both were in step, they differ by one chunk at most.
 * - `failed`: no bill, and the caller received a failure.
 * - `expired`: the reservation. Only if the Worker was killed during the request, or before it could deliver the settlement. A pause loses no
 *   settlement: one that comes after the charge replaces it. All times before a kill are those in which the Worker was not paused.
 *
 * With leases, the requests that the Worker admitted shortly before it was killed have no rows. What remains of their leases is charged
 * in rows of their own, which are at least what the answers cost by the engine's records: the isolate may use the rest of a reservation
 * for another request as soon as it knows the cost.
 *
 * A request that was not admitted has no row. The gateway may have called an engine before the account refused, or could not be reached; the
 * number of calls is at most that of the route, and the caller got no answer. If a caller disconnects before the headers, its record proves none
 * of this: an answer that the engine had completed before is billed, unless an account with limits may have refused it, or its object failed.
 */
import { type Bill, billOf, costOf, isIn, reservedFor } from "./books.ts";
import { type CallerRecord, lastOf } from "./caller.ts";
import type { CallerRequest } from "./caller-request.ts";
import { type EngineCall, NOTICE_MS } from "./engine.ts";
import { type Kill, micro, type ObjectFault, type Row, type Totals } from "./gateway.ts";
import { type Pause, runningMs } from "./pauses.ts";
import type { Planned } from "./plan.ts";
import { CLOCKS_MS, type LedgerMode, maxCallsOf, SILENCE_MS } from "./settings.ts";
import { wasSilentAfter } from "./silence.ts";

export interface Evidence {
	planned: Planned;
	callerRequest: CallerRequest;
	received: CallerRecord;
	calls: readonly EngineCall[];
}

export interface AccountBooks {
	account: string;
	rows: readonly Row[];
	totals: Totals;
}

export interface Violation {
	problem: string;
	evidence?: Evidence;
	rows: readonly Row[];
}

/** Classes of requests, by how they ended. */
export const CLASSES = [
	"reported",
	"counted",
	"estimated",
	"cancelled",
	"cancelledRunning",
	"cancelledBefore",
	"interrupted",
	"failed",
	"expired",
	"refused",
	"unbilledCalls",
	"unreported",
	"chargedLeases",
] as const;
export type Class = (typeof CLASSES)[number];

export interface Tally {
	requests: number;
	engineTokens: number;
	ledgerTokens: number;
	/** For one request, in output tokens; for streams in step with their caller, in chunks. */
	maxDifference: number;
	microNeurons: number;
}

export interface Verdict {
	violations: Violation[];
	tallies: Record<Class, Tally>;
	/** Requests that were not admitted: the number of each code or end. */
	refusals: Map<string, number>;
	/** For expired requests: the longest time between the last byte of the answer and the kill, without pauses. */
	lostMs: number;
}

/** A settlement waits 100 ms for others, and is then delivered. With leases it may wait for the next batch. */
const UNDELIVERED_MS = { exact: 500, leased: 4_500 };
/** The same after failed calls of the account's object: the pauses after the failures are 0.4, 1.6 and 6.4 seconds. */
const RETRIED_MS = 10_000;
/** Codes and statuses of a request that is not admitted: rates, budgets, the free plan's neurons, an object that fails. */
const NOT_ADMITTED = [
	{ code: 3021, status: 429 },
	{ code: 3036, status: 429 },
	{ code: 4006, status: 429 },
	{ code: 7009, status: 502 },
] as const;
/** A request is reported within four seconds, in a call. */
const UNREPORTED_MS = 4_500;
const LEASE_MS = 8_000;
const LEASE_PREFIX = "lease-";
/** From an engine's complete answer to its settlement. */
const READ_MS = 250;
/** Difference between the clocks of two processes. */
const SLACK_MS = 5;

/** Faults and limits of the gateway in a run. */
export interface Circumstances {
	kills: readonly Kill[];
	/** Default: none. */
	pauses?: readonly Pause[];
	objectFaults: readonly ObjectFault[];
	/** Milliseconds after which the gateway ends a request. */
	totalMs: number;
	/** Default: `exact`. */
	ledger?: LedgerMode;
	/** The longest lease. Default: 8 seconds. */
	leaseMs?: number;
	/** The account has limits, so it may refuse requests. */
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
		const requests = rows.filter(({ id }) => !id.startsWith(LEASE_PREFIX));
		const claims = claim(evidence, requests);
		const claimed = new Set([...claims.values()]);
		this.#judgeCharges(
			account,
			rows.filter(({ id }) => id.startsWith(LEASE_PREFIX)),
			evidence.filter((each) => !claims.has(each) && this.#isUnreported(each)),
		);
		for (const row of requests)
			if (!claimed.has(row))
				this.#violates(`a row of ${account} has no request, or is the second one of a request`, undefined, [
					row,
				]);
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

	get #undeliveredMs(): number {
		return UNDELIVERED_MS[this.#circumstances.ledger ?? "exact"];
	}

	get #leaseMs(): number {
		return this.#circumstances.leaseMs ?? LEASE_MS;
	}

	/** The isolate had admitted it from a lease, and was killed before it reported it. */
	#isUnreported({ calls, received, planned }: Evidence): boolean {
		if (this.#circumstances.ledger !== "leased") return false;
		const openedAt = calls[0]?.openedAt ?? received.startedAt;
		return this.#killsAfter(received.startedAt, openedAt).some(({ at }) => {
			const failed = this.#objectFailed(planned.account, received.startedAt, at, RETRIED_MS);
			return this.#running(openedAt, at) <= (failed ? RETRIED_MS : UNREPORTED_MS);
		});
	}

	/** Milliseconds without those of pauses. */
	#running(from: number, until: number): number {
		return runningMs(from, until, this.#circumstances.pauses ?? []);
	}

	/** How long after each kill a lease was granted. */
	#sinceKills(grantedAt: number): string {
		const { kills } = this.#circumstances;
		return `granted ${kills.map(({ at }) => Math.round(grantedAt - at)).join(", ")} ms after the kills`;
	}

	/** How long after the end of the answer each kill came, and the faults of its account's object before that. */
	#untilKills({ planned, received: { end, endedAt, startedAt, status } }: Evidence): string {
		const { kills, objectFaults } = this.#circumstances;
		const after = (at: number): string => `${Math.round(at - endedAt)} ms`;
		const faults = objectFaults.filter(
			({ account, at }) => account === planned.account && at > startedAt - RETRIED_MS,
		);
		return (
			`its answer (${status}, ${end}) ended ${Math.round(endedAt - startedAt)} ms after its start, ` +
			`${kills.map(({ at }) => after(at)).join(", ") || "no time"} before the kills; ` +
			`faults of its object: ${faults.map(({ at, kind }) => `${kind} ${after(at)}`).join(", ") || "none"}`
		);
	}

	/** The charges of leases that a killed isolate did not return. */
	#judgeCharges(account: string, charges: readonly Row[], unreported: readonly Evidence[]): void {
		for (const row of charges) {
			this.#count("chargedLeases", 0, 0, micro(row.neurons));
			const grantedAt = Date.parse(row.started_at) - performance.timeOrigin;
			const isLost = this.#circumstances.kills.some(
				({ at }) => grantedAt <= at + CLOCKS_MS && this.#running(grantedAt, at) <= this.#leaseMs + RETRIED_MS,
			);
			if (row.outcome !== "expired" || row.neurons > row.reserved_neurons || !isLost)
				this.#violates(
					`a lease of ${account} is charged, but no kill lost it: ${this.#sinceKills(grantedAt)}`,
					undefined,
					[row],
				);
		}
		const answered = unreported.filter(({ received }) => received.status === 200);
		for (const [model, lost] of Map.groupBy(answered, ({ callerRequest }) => callerRequest.model)) {
			const used = lost.reduce((sum, each) => sum + usedBy(each), 0);
			const charged = charges
				.filter((row) => row.model === model)
				.reduce((sum, { neurons }) => sum + micro(neurons), 0);
			if (charged < used)
				this.#violates(
					`${account}: ${lost.length} answers of ${model} were not reported before a kill and cost at least ${used}, but only ${charged} is charged`,
				);
		}
	}

	#judge(evidence: Evidence, row: Row | undefined): void {
		const { calls, received, planned, callerRequest } = evidence;
		const problems: string[] = [];
		const report = (problem: string) => problems.push(problem);
		const duringKill = this.#killed(received, 0);
		const isBroken = received.end === "broken" || received.end === "unreachable";
		if (isBroken && !duringKill && !(row === undefined && this.#wasClosedIdle(evidence)))
			report("its connection broke, although the gateway was not killed");
		const max = maxCallsOf(planned.api) * (wasGrantedLess(calls) ? 2 : 1);
		if (calls.length > max) report(`engines were called ${calls.length} times, the route allows ${max}`);
		if (received.end === "disconnected" && received.status === undefined)
			this.#judgeCancelledBefore(evidence, row, report);
		if (!row && !wasNotAdmitted(received) && this.#isUnreported(evidence))
			this.#count("unreported", 0, 0, received.status === 200 ? usedBy(evidence) : 0);
		else if (!row) {
			const unbilledCalls = duringKill || received.end === "disconnected" || wasNotAdmitted(received);
			if (calls.length > 0 && (received.status === 200 || !unbilledCalls))
				report("an engine was called, but no row exists");
			if (received.status === 200) report("it was answered, but no row exists");
			this.#count(calls.length > 0 ? "unbilledCalls" : "refused", 0, 0, 0);
			const { refusals } = this.#verdict;
			const code =
				received.end === "complete" ? (codeIn(received) ?? `HTTP ${received.status}`) : received.end;
			refusals.set(code, (refusals.get(code) ?? 0) + 1);
		} else {
			if (micro(row.reserved_neurons) > callerRequest.reserved)
				report("more was reserved than it could cost");
			if (row.neurons > row.reserved_neurons) report("it cost more than was reserved for it");
			this.#judgeRow(evidence, row, report);
		}
		if (received.end === "complete" && received.status === 200 && !received.errorFrame) {
			const answered = calls.findLast(({ complete }) => complete);
			if (!answered) report("the caller has a complete answer that no engine sent");
			else if (planned.api !== "embed" && !isSequence(received.tokens, answered.outputTokens))
				report(
					`the caller has the tokens ${received.tokens.join(" ")}, the engine sent ${answered.outputTokens}`,
				);
		}
		for (const problem of problems) this.#violates(problem, evidence, row ? [row] : []);
	}

	/** For a caller that disconnected before the headers: an answer that the engine had completed is billed. */
	#judgeCancelledBefore(
		{ calls, received, planned }: Evidence,
		row: Row | undefined,
		report: (problem: string) => void,
	) {
		const finished = calls.find(
			({ closedAt = Number.POSITIVE_INFINITY, complete }) =>
				complete && this.#running(closedAt, received.endedAt) > READ_MS,
		);
		if (!finished || (row && row.outcome !== "failed")) return;
		const { account } = planned;
		const mayRefuse =
			this.#circumstances.isLimited(account) ||
			this.#killed(received, 0) ||
			this.#objectFailed(account, received.startedAt, received.endedAt + this.#undeliveredMs);
		if (!mayRefuse)
			report(
				"its caller disconnected before the headers, the engine had completed the answer, and it is not billed",
			);
	}

	#judgeRow(evidence: Evidence, row: Row, report: (problem: string) => void): void {
		const { calls, received, planned, callerRequest } = evidence;
		const last = calls.at(-1);
		const billed = micro(row.neurons);
		if (row.outcome !== "expired" && billed !== costOf(row.model, row))
			report(`its tokens cost ${costOf(row.model, row)} micro-neurons, it is billed ${billed}`);
		switch (row.outcome) {
			case "ok": {
				if (!last?.complete) report("its row is ok, but the engine's answer was not complete");
				const bill = billOf(planned, callerRequest.prompt, {
					events: eventsOf(last, planned),
					complete: true,
					maxTokens: grantOf(calls),
				});
				differences(row, bill).forEach(report);
				if (received.neurons !== undefined && Number(received.neurons) !== Math.floor(billed / 10_000) / 100)
					report(`the caller received ${received.neurons} neurons`);
				if (received.end === "complete" && received.status !== 200)
					report("its row is ok, but the caller was refused");
				if (received.errorFrame) report("its row is ok, but the caller's stream ended with an error");
				if (row.attempts !== calls.length)
					report(`its row has ${row.attempts} attempts, engines were called ${calls.length} times`);
				const passed = last?.outputTokens ?? 0;
				if (received.end === "disconnected" && received.status === undefined)
					this.#count("cancelledBefore", passed, bill.estimated ? passed : row.output_tokens, billed);
				else if (!bill.estimated)
					this.#count(
						"reported",
						planned.promptTokens + passed,
						row.input_tokens + row.output_tokens,
						billed,
					);
				else if (planned.stream && planned.tokensPerEvent === 1)
					this.#count("counted", passed, row.output_tokens, billed);
				else this.#count("estimated", passed, row.output_tokens, billed);
				return;
			}
			case "cancelled":
			case "interrupted": {
				if (!planned.stream) report("only a stream can be cancelled or interrupted");
				if (row.outcome === "cancelled" && received.end === "complete")
					report("the caller had not disconnected");
				if (
					row.outcome === "interrupted" &&
					last?.complete &&
					row.latency_ms < this.#circumstances.totalMs &&
					!wasSilentAfter(last, receivedEvents(evidence), endOf(row))
				)
					report("its row is interrupted, but the engine's answer was complete");
				if (row.outcome === "interrupted" && received.end === "complete" && !received.errorFrame)
					report("its row is interrupted, but the caller's answer was complete");
				this.#judgePart(evidence, row, report);
				return;
			}
			case "failed": {
				if (billed !== 0 || row.input_tokens + row.output_tokens > 0) report("a failure was billed");
				if (received.status === 200) report("its row is failed, but the caller was answered");
				const code = codeIn(received);
				const wasRefused = wasNotAdmitted(received);
				if (
					received.end === "complete" &&
					last?.complete &&
					!last.abandoned &&
					!wasRefused &&
					!wasSilent(evidence, row) &&
					!this.#ranOutOfTime(row)
				)
					report("its row is failed, but the engine had answered");
				if (received.end === "complete" && planned.api !== "messages" && code !== undefined)
					if (Number(code) !== row.code) report(`the caller received ${code}, the row has ${row.code}`);
				this.#count("failed", 0, 0, billed);
				return;
			}
			case "expired": {
				const kill = this.#lostWith(evidence);
				if (kill)
					this.#verdict.lostMs = Math.max(this.#verdict.lostMs, this.#running(received.endedAt, kill.at));
				else report(`it expired, although no kill lost its settlement: ${this.#untilKills(evidence)}`);
				if (row.neurons !== row.reserved_neurons) report("it expired at another price than was reserved");
				this.#count("expired", last?.outputTokens ?? 0, 0, billed);
				return;
			}
			default:
				report(`it is ${row.outcome}`);
		}
	}

	/** A stream that ended early. The callers' and the engine's records give a range for its usage. */
	#judgePart(evidence: Evidence, row: Row, report: (problem: string) => void): void {
		const { calls, received, planned, callerRequest } = evidence;
		const max = Math.max(0, ...calls.map((call) => eventsOf(call, planned)));
		const min = receivedEvents(evidence);
		const maxTokens = grantOf(calls);
		const { leaving } = planned;
		const inStep = row.outcome === "cancelled" && leaving.when === "during" && leaving.inStep;
		const broken = calls.at(-1)?.fault;
		const bills = Array.from({ length: Math.max(0, max - min) + 1 }, (_, i) => ({
			events: min + i,
			bill: billOf(planned, callerRequest.prompt, { events: min + i, complete: false, maxTokens }),
		}));
		if (calls.some(({ complete }) => complete))
			bills.push({
				events: max,
				bill: billOf(planned, callerRequest.prompt, { events: max, complete: true, maxTokens }),
			});
		const name: Class =
			row.outcome === "interrupted" ? "interrupted" : inStep ? "cancelled" : "cancelledRunning";
		const fits = bills.findLast(({ bill }) => differences(row, bill).length === 0);
		if (!fits) {
			const nearest = bills.at(-1)?.bill;
			report(
				`billed ${row.output_tokens} of output, but ${min} to ${max} events passed` +
					(nearest ? `: ${differences(row, nearest).join(", ")}` : ""),
			);
			this.#count(name, 0, row.output_tokens, micro(row.neurons));
			return;
		}
		const unread = inStep ? Math.min(this.#eventsIntoPause(evidence), max - fits.events) : 0;
		const difference = max - unread - fits.events;
		if (inStep && difference > 1) report(`billed ${fits.events} events of the ${max} that the engine sent`);
		// The gateway has read everything before the interruption, and sent it if the caller stayed.
		const readToEnd = broken && broken !== "torn" && row.latency_ms < this.#circumstances.totalMs;
		const wasUnread = calls.every(
			(call, i) =>
				call.events <= fits.events || wasSilentAfter(call, fits.events, calls[i + 1]?.openedAt ?? endOf(row)),
		);
		const mustBeBilled = received.end === "complete" && readToEnd && !wasUnread;
		if (row.outcome === "interrupted" && mustBeBilled && difference > 0)
			report(`billed ${fits.events} events of the ${max} that the engine sent before the interruption`);
		// For a chunk of several tokens the gateway's own count is an estimate.
		const exact = !fits.bill.estimated || planned.tokensPerEvent === 1;
		this.#count(
			name,
			exact ? max * planned.tokensPerEvent : row.output_tokens + difference * planned.tokensPerEvent,
			row.output_tokens,
			micro(row.neurons),
			difference,
		);
	}

	/** The gateway has ended it at its time limit. On a slow machine the engine's answer may then wait to be read. */
	#ranOutOfTime({ code, latency_ms }: Row): boolean {
		return code === TOTAL_TIME_CODE && latency_ms >= this.#circumstances.totalMs - SLACK_MS;
	}

	#killed({ endedAt, startedAt }: CallerRecord, undeliveredMs: number): Kill | undefined {
		return this.#circumstances.kills.find(
			({ at, upAt }) =>
				startedAt <= upAt + SLACK_MS && this.#running(endedAt, at) <= undeliveredMs + SLACK_MS,
		);
	}

	/** The kill that lost its settlement: the request had started, and had ended no longer before than delivery takes. */
	#lostWith({ calls, received, planned }: Evidence): Kill | undefined {
		// Before the headers, a caller that disconnects does not end the engine's call.
		const endedAt = Math.max(received.endedAt, ...calls.map(({ closedAt = 0 }) => closedAt));
		return this.#killsAfter(received.startedAt, calls[0]?.openedAt ?? 0).find(({ at }) => {
			// A settlement waits for a flush that has failed before its request.
			const failed = this.#objectFailed(planned.account, received.startedAt, at, RETRIED_MS);
			return this.#running(endedAt, at) <= (failed ? RETRIED_MS : this.#undeliveredMs) + SLACK_MS;
		});
	}

	/**
	 * Kills of a gateway that had received the request. The engine shares its process with the callers and may notice a call of the
	 * killed gateway late, so a call counts as its own until the next gateway is up.
	 */
	#killsAfter(startedAt: number, openedAt: number): Kill[] {
		return this.#circumstances.kills.filter(({ at, upAt }) => startedAt <= at + SLACK_MS && openedAt <= upAt);
	}

	/**
	 * When the runtime goes on, it closes the connections that were idle in the pause, although a request may wait in the socket of one: it does
	 * not arrive.
	 */
	#wasClosedIdle({ calls, received: { startedAt, status } }: Evidence): boolean {
		const { pauses = [] } = this.#circumstances;
		const isUnread = pauses.some(
			({ at, upAt }) => startedAt >= at - CLOCKS_MS && startedAt <= upAt + CLOCKS_MS,
		);
		return isUnread && status === undefined && calls.length === 0;
	}

	/** `beforeMs`: at most so long before `from`. */
	#objectFailed(account: string, from: number, until: number, beforeMs = 0): boolean {
		return this.#circumstances.objectFaults.some(
			(fault) =>
				fault.account === account &&
				this.#running(fault.at, from) <= beforeMs + SLACK_MS &&
				fault.at <= until + SLACK_MS,
		);
	}

	/** After the caller has disconnected, the engine waits. A gateway that is paused notices nothing, so the engine sends these events. */
	#eventsIntoPause({ calls, received: { endedAt } }: Evidence): number {
		const sent = calls.flatMap(({ sentAt }) => sentAt).filter((at) => at - endedAt >= NOTICE_MS - SLACK_MS);
		return sent.filter((at) => this.#running(endedAt, at) < NOTICE_MS).length;
	}

	#count(
		name: Class,
		engine: number,
		ledger: number,
		microNeurons: number,
		difference = engine - ledger,
	): void {
		const tally = this.#verdict.tallies[name];
		tally.requests++;
		tally.engineTokens += engine;
		tally.ledgerTokens += ledger;
		tally.microNeurons += microNeurons;
		if (name !== "expired") tally.maxDifference = Math.max(tally.maxDifference, Math.abs(difference));
	}

	#violates(problem: string, evidence?: Evidence, rows: readonly Row[] = []): void {
		this.#verdict.violations.push({ problem, ...(evidence && { evidence }), rows });
	}
}

const SILENT_CODE = 3007;
const TOTAL_TIME_CODE = 3046;

/**
 * The gateway stopped waiting for a silent engine. On a slow machine the engine may answer in that moment, because it shares its process with
 * the callers and accepts a call late.
 */
function wasSilent({ calls, received }: Evidence, { code }: Row): boolean {
	const since = Math.max(received.startedAt, ...calls.slice(0, -1).map(({ closedAt = 0 }) => closedAt));
	return code === SILENT_CODE && received.endedAt - since >= SILENCE_MS;
}

/** When the gateway settled the answer, by the clock of the soak. */
const endOf = ({ latency_ms, started_at }: Row): number =>
	Date.parse(started_at) - performance.timeOrigin + latency_ms;

/** Anthropic's format has messages and no codes. */
function wasNotAdmitted(received: CallerRecord): boolean {
	const code = codeIn(received);
	return NOT_ADMITTED.some((failure) =>
		code === undefined ? failure.status === received.status : failure.code === Number(code),
	);
}

/** The account granted less output than expected, so the engine was called again with the lower limit. */
const wasGrantedLess = (calls: readonly EngineCall[]): boolean =>
	new Set(calls.map(({ maxTokens }) => maxTokens)).size > 1;

const codeIn = ({ body = "" }: CallerRecord): string | undefined => /"code":\s*(\d+)/.exec(body)?.[1];

const emptyTally = (): Tally => ({
	requests: 0,
	engineTokens: 0,
	ledgerTokens: 0,
	maxDifference: 0,
	microNeurons: 0,
});

/**
 * Finds the row of each request: by the id that the caller received, or else by the reservation, which is unique per account and model. A
 * request without an output limit may have been granted less. Then its engine received that limit, or no engine was called and the request
 * failed or expired.
 */
function claim(evidence: readonly Evidence[], rows: readonly Row[]): Map<Evidence, Row> {
	const claims = new Map<Evidence, Row>();
	const freeRows = new Set(rows);
	const assign = (each: Evidence, row: Row | undefined) => {
		if (!row || claims.has(each)) return;
		claims.set(each, row);
		freeRows.delete(row);
	};
	const find = (each: Evidence, matches: (row: Row) => boolean): Row | undefined =>
		[...freeRows].find((row) => row.model === each.callerRequest.model && matches(row));
	const byId = new Map(rows.map((row) => [row.id, row]));
	for (const each of evidence) if (each.received.id !== undefined) assign(each, byId.get(each.received.id));
	const withoutId = evidence.filter(({ received }) => received.id === undefined);
	for (const each of withoutId) {
		const { calls, callerRequest } = each;
		const granted = Math.min(grantOf(calls), callerRequest.cost.outputTokens);
		const reserved = new Set([callerRequest.reserved, reservedFor(callerRequest.cost, granted)]);
		assign(
			each,
			find(each, (row) => reserved.has(micro(row.reserved_neurons))),
		);
	}
	for (const each of withoutId)
		if (each.callerRequest.cost.outputUnbounded && each.calls.length === 0)
			assign(
				each,
				find(
					each,
					(row) =>
						micro(row.reserved_neurons) < each.callerRequest.reserved &&
						(row.outcome === "failed" || row.outcome === "expired"),
				),
			);
	return claims;
}

/** Output tokens; infinite if no engine was called, or it received no limit. */
const grantOf = (calls: readonly EngineCall[]): number => calls[0]?.maxTokens ?? Number.POSITIVE_INFINITY;

const eventsOf = (call: EngineCall | undefined, { api }: Planned): number =>
	call && api !== "embed" ? call.events : 0;

const receivedEvents = ({ planned, received }: Evidence): number =>
	Math.floor(lastOf(received.tokens) / planned.tokensPerEvent);

/** Micro-neurons that the caller's part of the answer cost at least. */
function usedBy(evidence: Evidence): number {
	const { calls, callerRequest, planned, received } = evidence;
	const { inputTokens, cachedTokens, outputTokens } = billOf(planned, callerRequest.prompt, {
		events: planned.api === "embed" ? 0 : receivedEvents(evidence),
		complete: received.end === "complete",
		maxTokens: grantOf(calls),
	});
	return costOf(callerRequest.model, {
		input_tokens: inputTokens.min,
		cached_tokens: cachedTokens,
		output_tokens: outputTokens.min,
	});
}

function differences(row: Row, bill: Bill): string[] {
	const found: string[] = [];
	const { inputTokens, outputTokens } = bill;
	for (const [name, value, range] of [
		["input", row.input_tokens, inputTokens],
		["output", row.output_tokens, outputTokens],
	] as const)
		if (!isIn(range, value))
			found.push(`${name} tokens ${value} instead of ${[...new Set([range.min, range.max])].join(" to ")}`);
	if (row.cached_tokens !== bill.cachedTokens)
		found.push(`cached tokens ${row.cached_tokens} instead of ${bill.cachedTokens}`);
	if (row.estimated !== bill.estimated) found.push(`estimated ${row.estimated} instead of ${bill.estimated}`);
	return found;
}

/** 1, 2, 3 … `length`. Some formats repeat the complete text at the end. */
function isSequence(tokens: readonly number[], length: number): boolean {
	if (length === 0) return tokens.length === 0;
	return (
		tokens.length % length === 0 &&
		tokens.length > 0 &&
		tokens.every((token, i) => token === (i % length) + 1)
	);
}
