/**
 * Compares the logs, the ledger, the engines' records and the callers' records of a run through gateways.
 *
 * Ledger: each row is the usage of one call of an engine, and each complete call has one row. A cached answer has neither. Only a kill, a caller
 * that disconnected, or the gateway's timeout excuses a call without a row.
 *
 * Logs: each request has one row, with the status, the step and the id that its caller received, and with the tokens of the ledger. A kill
 * excuses the requests that were under way, and the answers that ended within {@link LOST_MS} before it. A caller that disconnects before the headers
 * may have sent nothing.
 */
import { costOf } from "../books.ts";
import type { CallerRecord } from "../caller.ts";
import type { EngineCall } from "../engine.ts";
import type { Kill, Row } from "../gateway.ts";
import { SILENCE_MS } from "../settings.ts";
import type { GuardCall } from "./guard-engine.ts";
import type { LogRow } from "./logs.ts";
import { type GatewayPlan, type GatewayRequest, promptTokensOf } from "./plan.ts";
import { GUARD_MODEL, MODEL } from "./settings.ts";

export interface AccountBooks {
	plan: GatewayPlan;
	records: readonly CallerRecord[];
	/** By the index of the answer. */
	calls: readonly (readonly EngineCall[])[];
	guardCalls: readonly GuardCall[];
	/** By account. */
	ledger: ReadonlyMap<string, readonly Row[]>;
	logs: ReadonlyMap<string, readonly LogRow[]>;
	kills: readonly Kill[];
}

export interface GatewayVerdict {
	violations: string[];
	/** Requests by how they ended. */
	counts: Record<Count, number>;
	/** The longest time between the end of an answer and the kill that lost its log. */
	lostMs: number;
}

export const COUNTS = [
	"answered",
	"cached",
	"fallback",
	"blocked",
	"failed",
	"disconnected",
	"resumable",
	"killed",
	"lost",
] as const;
type Count = (typeof COUNTS)[number];

/** A log is sent when its answer has ended, after those that are being sent. */
const LOST_MS = 500;
/** A batch of leased requests is sent every 250 ms. What a kill prevents is charged with the lease. */
const UNDELIVERED_MS = 1_500;
const TIMEOUT = 408;
/** Longer than any request. */
const LONGEST_MS = 30_000;
const DOLLARS_PER_MICRO_NEURON = 0.011 / 1_000 / 1_000_000;
const CENT_OF_A_MICRO_DOLLAR = 1e-8;

export function audit(books: AccountBooks): GatewayVerdict {
	const judge = new Judge(books);
	judge.ledger();
	for (const record of books.records) judge.request(record);
	judge.reportUnmatchedLogs();
	return judge.verdict;
}

class Judge {
	readonly verdict: GatewayVerdict = {
		violations: [],
		counts: Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<Count, number>,
		lostMs: 0,
	};
	readonly #books: AccountBooks;
	readonly #logs: Map<number | undefined, LogRow[]>;
	/** Rows of the chat model with usage, by the index of the answer. */
	readonly #rows: Map<number, Row[]>;
	/** Requests by the index of an answer. */
	readonly #requests = new Map<number, GatewayRequest[]>();
	readonly #records: Map<number, CallerRecord>;

	constructor(books: AccountBooks) {
		this.#books = books;
		this.#logs = Map.groupBy([...books.logs.values()].flat(), ({ metadata }) => metadata?.request);
		const rows = [...books.ledger.values()].flat().filter(({ model, input_tokens }) => {
			return model === MODEL && input_tokens > 0;
		});
		this.#rows = Map.groupBy(rows, ({ input_tokens }) => input_tokens - promptTokensOf(0));
		this.#records = new Map(books.records.map((record) => [record.index, record]));
		for (const request of books.plan.requests)
			for (const step of request.steps)
				this.#requests.set(step, [...(this.#requests.get(step) ?? []), request]);
	}

	ledger(): void {
		const { calls, guardCalls, ledger, plan } = this.#books;
		for (const { account, index } of plan.answers) {
			const rows = this.#rows.get(index) ?? [];
			const ofAccount = new Set(ledger.get(account));
			if (rows.some((row) => !ofAccount.has(row)))
				this.#report(`answer ${index} is billed to another account`);
			this.#match(`answer ${index}`, rows, calls[index] ?? [], this.#requests.get(index) ?? []);
		}
		const rows = [...ledger.values()].flat();
		const guardRows = Map.groupBy(
			rows.filter(({ model, outcome }) => model === GUARD_MODEL && outcome === "ok"),
			(row) => `${row.input_tokens} ${row.output_tokens}`,
		);
		for (const call of guardCalls) {
			const key = `${call.inputTokens} ${call.outputTokens}`;
			const [row, ...others] = guardRows.get(key) ?? [];
			guardRows.delete(key);
			if (others.length > 0) this.#report(`a call of the guard model is billed ${1 + others.length} times`);
			const requests = this.#requests.get(call.answer ?? -1) ?? [];
			if (!row && call.complete && !this.#isExcused(call, requests))
				this.#report(
					`a complete call of the guard model is not billed, ${this.#killNear(call.closedAt ?? call.openedAt)}`,
				);
		}
		for (const key of guardRows.keys()) this.#report(`the guard model is billed for no call: ${key}`);
		const billed = rows.filter(({ outcome }) => !["failed", "expired"].includes(outcome));
		for (const row of billed.filter(({ model }) => model === MODEL))
			if (Math.round(row.neurons * 1_000_000) !== costOf(row.model, row))
				this.#report(`row ${row.id} is billed ${row.neurons} neurons`);
		for (const row of rows.filter(({ outcome }) => outcome === "expired"))
			if (!this.#wasKilled(startOf(row), startOf(row) + LONGEST_MS))
				this.#report(`row ${row.id} expired without a kill`);
	}

	/** Each row is one call, and each complete call has a row. */
	#match(
		name: string,
		rows: readonly Row[],
		calls: readonly EngineCall[],
		requests: readonly GatewayRequest[],
	): void {
		// A call that may have no row is the last choice.
		const isExcused = (call: EngineCall): number => Number(this.#isExcused(call, requests));
		const free = calls.toSorted((a, b) => isExcused(a) - isExcused(b));
		const exactFirst = [
			...rows.filter(({ outcome }) => outcome === "ok"),
			...rows.filter(({ outcome }) => outcome !== "ok"),
		];
		for (const row of exactFirst) {
			const index = free.findIndex(({ complete, outputTokens }) =>
				row.outcome === "ok"
					? complete && outputTokens === row.output_tokens
					: outputTokens >= row.output_tokens,
			);
			// The prompt of a call that its caller cancelled before the engine had read it.
			const isUnread = row.outcome === "cancelled" && row.output_tokens === 0;
			if (index < 0 && isUnread && requests.some((request) => this.#left(request))) continue;
			if (index < 0) this.#report(`${name}: its row ${row.id} (${row.outcome}) is the usage of no call`);
			else free.splice(index, 1);
		}
		for (const call of free)
			if (call.complete && !this.#isExcused(call, requests))
				this.#report(
					`${name}: a complete call is not billed, ${this.#killNear(call.closedAt ?? call.openedAt)}`,
				);
	}

	request(record: CallerRecord): void {
		const request = this.#books.plan.requests[record.index];
		if (!request) return;
		const rows = this.#logs.get(record.index) ?? [];
		const report = (problem: string): void => this.#report(`request ${record.index}: ${problem}`);
		if (rows.length > 1) report(`it has ${rows.length} logs`);
		const kill = this.#killAfter(record.startedAt, this.#endOf(request, record), LOST_MS);
		const [row] = rows;
		if (!row) {
			const isUnsent = record.end === "unreachable" || (record.end === "disconnected" && !record.status);
			if (!kill && !isUnsent)
				report(
					`it has no log, and ended with ${record.end} ${record.status}, ${this.#killNear(record.endedAt)}`,
				);
			if (kill && record.end === "complete") {
				this.verdict.lostMs = Math.max(this.verdict.lostMs, kill.at - record.endedAt);
				this.#count("lost");
			} else this.#count(kill ? "killed" : "disconnected");
			return;
		}
		if ((record.end === "broken" || record.end === "unreachable") && !kill) report("its connection broke");
		if (record.headers && record.headers["cf-aig-log-id"] !== row.id) report("its log has another id");
		if (record.status !== undefined && row.status_code !== record.status)
			report(`its log has status ${row.status_code}, the caller received ${record.status}`);
		if (record.end === "complete") this.#complete({ request, record, row }, report);
		else this.#count(record.end === "disconnected" ? "disconnected" : "killed");
		this.#tokens({ request, row, record }, report);
	}

	#complete({ request, record, row }: Judged, report: (problem: string) => void): void {
		const isHit = record.headers?.["cf-aig-cache-status"] === "HIT";
		if (row.cached !== isHit) report(`its log has cached ${row.cached}`);
		if (String(row.step) !== record.headers?.["cf-aig-step"]) report(`its log has step ${row.step}`);
		const isAnswered = record.status === 200 && !record.errorFrame;
		if (row.success !== isAnswered) report(`its log has success ${row.success}`);
		if (!isAnswered) {
			this.#count(record.status === 424 ? "blocked" : "failed");
			return;
		}
		const step = request.steps[row.step] ?? -1;
		const answered = this.#books.calls[step]?.find(({ complete }) => complete);
		if (!answered) report("its caller has an answer that no engine sent");
		else if (record.tokens.length !== answered.outputTokens)
			report(`its caller has ${record.tokens.length} tokens, the engine sent ${answered.outputTokens}`);
		this.#count(isHit ? "cached" : row.step > 0 ? "fallback" : request.resumable ? "resumable" : "answered");
	}

	/** A request that did not share its answer has the tokens and the cost of the ledger. */
	#tokens({ request, row, record }: Judged, report: (problem: string) => void): void {
		if (row.cached) {
			if (row.cost !== 0 || row.tokens_in !== 0 || row.tokens_out !== 0)
				report(`its answer is cached, and its log has the cost ${row.cost}`);
			return;
		}
		const step = request.steps[row.step] ?? -1;
		const billed = this.#rows.get(step) ?? [];
		const [bill] = billed;
		if (request.cacheKey !== undefined || billed.length > 1) return;
		if (!bill) {
			// The ledger charges a killed request its reservation.
			const isExcused = this.#wasKilled(record.startedAt, this.#endOf(request, record), UNDELIVERED_MS);
			if (row.tokens_out !== null && !isExcused) report(`its log has tokens, but it is not billed`);
			return;
		}
		if (row.tokens_in !== bill.input_tokens || row.tokens_out !== bill.output_tokens)
			report(
				`its log has ${row.tokens_in} and ${row.tokens_out} tokens, the ledger ${bill.input_tokens} and ${bill.output_tokens}`,
			);
		const cost = costOf(MODEL, bill) * DOLLARS_PER_MICRO_NEURON;
		if (Math.abs((row.cost ?? Number.NaN) - cost) > CENT_OF_A_MICRO_DOLLAR || row.cost === undefined)
			report(`its log has the cost ${row.cost}, the ledger ${cost}`);
	}

	/** Rows of no request. */
	reportUnmatchedLogs(): void {
		for (const [index, rows] of this.#logs)
			if (index === undefined || !this.#records.has(index))
				this.#report(`${rows.length} logs have no request: ${index}`);
	}

	/** A caller disconnected, the gateway stopped waiting for the engine, or the Worker was killed before it could settle the call. */
	#isExcused(
		{ openedAt, closedAt = openedAt }: { openedAt: number; closedAt?: number },
		requests: readonly GatewayRequest[],
	): boolean {
		const records = requests.flatMap(({ index }) => this.#records.get(index) ?? []);
		const endedAt = Math.max(closedAt, ...records.map((record) => record.endedAt));
		return (
			records.some(({ end, status }) => end === "disconnected" || status === TIMEOUT) ||
			requests.some((request) => this.#timedOut(request, openedAt)) ||
			this.#wasKilled(openedAt, endedAt, UNDELIVERED_MS)
		);
	}

	/** A resumable stream ends with its call, which may be after its caller. */
	#endOf({ resumable, steps }: GatewayRequest, { endedAt }: CallerRecord): number {
		const calls = resumable ? steps.flatMap((step) => this.#books.calls[step] ?? []) : [];
		return Math.max(endedAt, ...calls.map(({ closedAt, openedAt }) => closedAt ?? openedAt));
	}

	#left({ index }: GatewayRequest): boolean {
		return this.#records.get(index)?.end === "disconnected";
	}

	/** The request lasted longer than the gateway waits for a call. Then it failed, or the gateway had called an engine again. */
	#timedOut({ index, steps }: GatewayRequest, openedAt: number): boolean {
		const record = this.#records.get(index);
		if (!record || record.endedAt < openedAt + SILENCE_MS) return false;
		const later = steps.flatMap((step) => this.#books.calls[step] ?? []);
		return record.status !== 200 || later.some((call) => call.openedAt >= openedAt + SILENCE_MS);
	}

	#killAfter(from: number, to = from, afterMs = 0): Kill | undefined {
		return this.#books.kills.find(({ at, upAt }) => from <= upAt && at <= to + afterMs);
	}

	/** The time of the next kill, for the report of a violation. */
	#killNear(time: number): string {
		const next = this.#books.kills.find(({ at }) => at >= time);
		return next ? `${Math.round(next.at - time)} ms before a kill` : "after the last kill";
	}

	#wasKilled(from: number, to = from, afterMs = 0): boolean {
		return this.#killAfter(from, to, afterMs) !== undefined;
	}

	#count(name: Count): void {
		this.verdict.counts[name]++;
	}

	#report(problem: string): void {
		this.verdict.violations.push(problem);
	}
}

interface Judged {
	request: GatewayRequest;
	record: CallerRecord;
	row: LogRow;
}

const startOf = ({ started_at }: Row): number => Date.parse(started_at) - performance.timeOrigin;
