/**
 * Compares the logs, the ledger, the engines' records and the callers' records of a run through gateways.
 *
 * Ledger: each row is the usage of one call of an engine, and each complete call has one row. A cached answer has neither.
 *
 * Logs: each request has one row, with the status, the step and the id that its caller received, and with the tokens of the ledger. A caller that
 * disconnects before the headers may have sent nothing.
 *
 * `excuses.ts` has the reasons for which a row may be absent.
 */
import { costOf } from "../books.ts";
import type { CallerRecord } from "../caller.ts";
import type { EngineCall } from "../engine.ts";
import type { Row } from "../gateway.ts";
import { type Evidence, Excuses } from "./excuses.ts";
import type { GuardCall } from "./guard-engine.ts";
import type { LogRow } from "./logs.ts";
import { pairRows } from "./pair-rows.ts";
import { type GatewayPlan, type GatewayRequest, promptTokensOf } from "./plan.ts";
import { GUARD_MODEL, MODEL } from "./settings.ts";

export interface AccountBooks extends Evidence {
	plan: GatewayPlan;
	guardCalls: readonly GuardCall[];
	/** By account. */
	ledger: ReadonlyMap<string, readonly Row[]>;
	logs: ReadonlyMap<string, readonly LogRow[]>;
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
	readonly #excuses: Excuses;

	constructor(books: AccountBooks) {
		this.#books = books;
		this.#excuses = new Excuses(books);
		this.#logs = Map.groupBy([...books.logs.values()].flat(), ({ metadata }) => metadata?.request);
		const rows = [...books.ledger.values()].flat().filter(({ model, input_tokens }) => {
			return model === MODEL && input_tokens > 0;
		});
		this.#rows = Map.groupBy(rows, ({ input_tokens }) => input_tokens - promptTokensOf(0));
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
			if (!row && call.complete && !this.#excuses.unbilled(call, requests))
				this.#report(
					`a complete call of the guard model is not billed, ${this.#excuses.killNear(call.closedAt ?? call.openedAt)}`,
				);
		}
		for (const key of guardRows.keys()) this.#report(`the guard model is billed for no call: ${key}`);
		const billed = rows.filter(({ outcome }) => !["failed", "expired"].includes(outcome));
		for (const row of billed.filter(({ model }) => model === MODEL))
			if (Math.round(row.neurons * 1_000_000) !== costOf(row.model, row))
				this.#report(`row ${row.id} is billed ${row.neurons} neurons`);
		for (const row of rows.filter(({ outcome }) => outcome === "expired"))
			if (!this.#excuses.expiry(row)) this.#report(`row ${row.id} expired without a kill`);
	}

	/** Each row is one call, and each complete call has a row. */
	#match(
		name: string,
		rows: readonly Row[],
		calls: readonly EngineCall[],
		requests: readonly GatewayRequest[],
	): void {
		const isExcused = (call: EngineCall) => this.#excuses.unbilled(call, requests);
		const { rowsWithoutCall, callsWithoutRow } = pairRows(rows, calls, isExcused);
		for (const row of rowsWithoutCall) {
			// The prompt of a call that its caller cancelled before the engine had read it.
			const isUnread = row.outcome === "cancelled" && row.output_tokens === 0;
			if (!(isUnread && requests.some((request) => this.#excuses.left(request))))
				this.#report(`${name}: its row ${row.id} (${row.outcome}) is the usage of no call`);
		}
		for (const call of callsWithoutRow)
			if (call.complete && !isExcused(call))
				this.#report(
					`${name}: a complete call is not billed, ${this.#excuses.killNear(call.closedAt ?? call.openedAt)}`,
				);
	}

	request(record: CallerRecord): void {
		const request = this.#books.plan.requests[record.index];
		if (!request) return;
		const rows = this.#logs.get(record.index) ?? [];
		const report = (problem: string): void => this.#report(`request ${record.index}: ${problem}`);
		if (rows.length > 1) report(`it has ${rows.length} logs`);
		const kill = this.#excuses.lostLog(request, record);
		const [row] = rows;
		if (!row) {
			const isUnsent = record.end === "unreachable" || (record.end === "disconnected" && !record.status);
			if (!kill && !isUnsent)
				report(
					`it has no log, and ended with ${record.end} ${record.status}, ${this.#excuses.killNear(record.endedAt)}`,
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
			const isExcused = this.#excuses.unsettled(request, record);
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
			if (index === undefined || !this.#excuses.sent(index))
				this.#report(`${rows.length} logs have no request: ${index}`);
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
