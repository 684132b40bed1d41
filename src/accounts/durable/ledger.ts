/**
 * An account's requests and neurons: reserve, settle, expire. The only writer of its tables.
 *
 * The state that an admission needs (rate windows, spent and reserved neurons of the day and the month, open requests) is in
 * memory, exact, and rebuilt from the tables at the start. An admission writes one row. A settlement updates the row and adds to
 * the day's usage. A reservation belongs to the UTC day of its admission, and is settled on that day.
 */
import type { Admission, Admitted, CountedRequest, Settlement } from "../admission.ts";
import {
	ForwardClock,
	type Instant,
	logCorrection,
	monthOf,
	nextMidnight,
	nextMonth,
	utcDay,
} from "../clock.ts";
import { hasBudget } from "../token-command.ts";
import { Budgets, budgetKeys, describeRefusal, describeUnpriced, maxCost } from "./budgets.ts";
import { type Counted, CountedRequests } from "./counted-requests.ts";
import { type LimitDecision, type LimitRefusal, longestRefusal } from "./limit-refusal.ts";
import { type LimitStatus, type LimitStatusQuery, usedOf } from "./limit-status.ts";
import { Refusals } from "./refusals.ts";
import type { OpenRequest } from "./request-rows.ts";
import { Requests, type RequestsPage, type RequestsQuery } from "./requests.ts";
import { expiredSettlement, validSettlement } from "./settlements.ts";
import { Usage, type UsageQuery, type UsageReport } from "./usage.ts";
import { type VerifiedToken, withTokenLimits } from "./verified-token.ts";
import { Windows } from "./windows.ts";

/** `token`: absent for the operator. */
export interface PendingAdmission {
	admission: Admission;
	token: VerifiedToken | undefined;
}

/** The caller's use of the number needs no more. */
const MAX_REMAINING = 1_000_000;

type LimitedRequest = Pick<Admission, "model" | "unpriced" | "cost"> &
	Pick<LimitStatusQuery, "budgets" | "rates">;

export class Ledger {
	readonly refusals: Refusals;
	readonly #storage: Pick<DurableObjectStorage, "sql" | "transactionSync">;
	readonly #clock: ForwardClock;
	readonly #requests: Requests;
	readonly #usage: Usage;
	readonly #windows = new Windows();
	readonly #counted: CountedRequests;
	#budgets: Budgets;
	/** The open requests, by ticket. Settlement and expiry remove them. */
	readonly #open = new Map<string, OpenRequest>();

	/** `clock`: milliseconds since the epoch. */
	constructor(storage: Pick<DurableObjectStorage, "sql" | "transactionSync">, clock: () => number) {
		this.#storage = storage;
		Requests.create(storage.sql);
		Usage.create(storage.sql);
		Refusals.create(storage.sql);
		this.#requests = new Requests(storage.sql);
		this.#usage = new Usage(storage.sql);
		this.refusals = new Refusals(storage.sql);
		this.#counted = new CountedRequests(storage.sql, this.#windows);
		this.#clock = new ForwardClock(clock, Math.max(this.#requests.latest(), this.#usage.latest()));
		this.#budgets = new Budgets(utcDay(clock()));
		const instant = this.#clock.read();
		if (instant.corrected !== undefined) logCorrection(instant.corrected);
		this.#rebuild(instant.now);
	}

	/** Rebuilds the state in memory from the tables. */
	#rebuild(now: number): void {
		this.#windows.clear();
		for (const { rateKeys, admittedAt } of this.#requests.lastMinute(now))
			this.#windows.count(rateKeys, admittedAt);
		this.#counted.restore(now);
		this.#budgets = new Budgets(utcDay(now));
		for (const { day, model, token, microNeurons } of this.#usage.spent(monthOf(this.#budgets.day)))
			this.#budgets.book(day, budgetKeys(model, token), { spent: microNeurons, reserved: 0 });
		this.#open.clear();
		for (const request of this.#requests.openRequests()) this.#reserve(request, now);
	}

	/** The account's time. It goes back only to correct a clock that ran ahead. */
	now(): number {
		return this.#read().now;
	}

	/**
	 * Admits a request and reserves its maximum cost, or refuses it. A refusal is only counted, and nothing is written. If this
	 * throws, the caller must drop the ledger: its memory may be ahead of its tables.
	 */
	admit(admission: Admission, token?: VerifiedToken): Admitted {
		const opened: OpenRequest[] = [];
		const answer = this.#admitOne(admission, token, opened);
		if (opened.length > 0) this.#requests.insert(opened);
		return answer;
	}

	/** The same as one {@link admit} for each, in order, with one write for all. */
	admitAll(pending: readonly PendingAdmission[]): Admitted[] {
		const opened: OpenRequest[] = [];
		const answers = pending.map(({ admission, token }) => this.#admitOne(admission, token, opened));
		if (opened.length > 0) this.#requests.insert(opened);
		return answers;
	}

	/** Counts a request that is not billed, or refuses it. If this throws, the caller must drop the ledger. */
	count(request: CountedRequest, token?: VerifiedToken): Counted {
		const instant = this.#read();
		const { now } = instant;
		const until = this.#counted.count(request, now);
		if (until <= now) return { ok: true };
		this.refusals.count("rateLimited", { task: request.task, token: token?.id ?? "" }, now);
		return longestRefusal([{ failure: "rateLimited", until }], instant);
	}

	/** How many more requests like this one would be admitted now, at most {@link MAX_REMAINING}. */
	remaining(request: LimitedRequest, token?: VerifiedToken): number {
		const { now } = this.#read();
		const { budgets, rates } = withTokenLimits(request, token);
		let remaining = MAX_REMAINING;
		for (const { key, perMinute } of rates)
			remaining = Math.min(remaining, Math.max(0, perMinute - this.#windows.used(key, now)));
		const cost = maxCost(request.cost);
		if (cost > 0)
			for (const budget of budgets)
				remaining = Math.min(remaining, Math.floor(this.#budgets.remaining(budget) / cost));
		return remaining;
	}

	/** The first settlement of an open ticket counts. Writes all of the batch or, if it throws, nothing. */
	settle(settlements: readonly Settlement[]): void {
		const settled = new Map<string, readonly [OpenRequest, Settlement]>();
		for (const settlement of settlements) {
			const request = this.#open.get(settlement.ticket);
			if (request && !settled.has(settlement.ticket))
				settled.set(settlement.ticket, [request, validSettlement(settlement, request)]);
		}
		if (settled.size === 0) return;
		const { now } = this.#read();
		this.#storage.transactionSync(() => {
			const all = [...settled.values()];
			this.#requests.settle(now, all);
			this.#usage.add(all);
		});
		for (const [request, { microNeurons }] of settled.values()) {
			this.#open.delete(request.ticket);
			this.#book(request, { spent: microNeurons, reserved: -request.reserved });
		}
	}

	/** Settles the expired requests at their reservations. */
	expire(): void {
		const { now } = this.#read();
		const expired = [...this.#open.values()].filter(({ expiresAt }) => expiresAt <= now);
		this.settle(expired.map(expiredSettlement));
	}

	/** Writes the counted refusals and deletes old rows. Returns when the next request expires or the next row may be deleted. */
	sweep(): number | undefined {
		const { now } = this.#read();
		this.#windows.deleteIdle(now);
		this.#counted.deleteExpired(now);
		this.#usage.deleteExpired(now);
		this.refusals.write();
		this.refusals.deleteExpired(now);
		if (this.#requests.deleteExpired(now)) return now;
		const deletions = [this.#requests.nextExpiry(), this.#usage.nextExpiry(), this.refusals.nextExpiry()];
		const due = [this.nextExpiry(), ...deletions].filter((time) => time !== undefined);
		return due.length > 0 ? Math.min(...due) : undefined;
	}

	isOpen(ticket: string): boolean {
		return this.#open.has(ticket);
	}

	expiryOf(ticket: string): number | undefined {
		return this.#open.get(ticket)?.expiresAt;
	}

	/** When the next open request expires. */
	nextExpiry(): number | undefined {
		let next: number | undefined;
		for (const { expiresAt } of this.#open.values()) next = Math.min(next ?? expiresAt, expiresAt);
		return next;
	}

	usage(query: UsageQuery): UsageReport {
		return this.#usage.report(query);
	}

	requests(query: RequestsQuery): RequestsPage {
		return this.#requests.page(query);
	}

	limitStatus(query: LimitStatusQuery, token?: VerifiedToken): LimitStatus {
		const instant = this.#read();
		const { request } = query;
		const { budgets, rates } = withTokenLimits(query, token);
		return {
			day: this.#budgets.day,
			open: this.#open.size,
			...usedOf({ budgets, rates }, { budgets: this.#budgets, windows: this.#windows, now: instant.now }),
			...(request && { answer: this.#decide({ ...query, ...request }, token, instant).answer }),
		};
	}

	/** Counts the request and adds it to `opened`, which the caller writes. */
	#admitOne(admission: Admission, token: VerifiedToken | undefined, opened: OpenRequest[]): Admitted {
		const { holdMs, model, task, ticket } = admission;
		const instant = this.#read();
		const { answer, rates, reserved } = this.#decide(admission, token, instant);
		const { now } = instant;
		const tokenId = token?.id ?? "";
		if (!answer.ok) {
			this.refusals.count(answer.failure, { task, token: tokenId }, now);
			return answer;
		}
		if (this.#open.has(ticket)) throw new Error(`Ticket ${ticket} is already open`);
		const rateKeys = rates.map(({ key }) => key);
		const request = this.#requests.open({
			ticket,
			admittedAt: now,
			expiresAt: now + holdMs,
			model,
			task,
			token: tokenId,
			rateKeys,
			reserved,
		});
		opened.push(request);
		this.#windows.count(rateKeys, now);
		this.#reserve(request, now);
		return answer;
	}

	/** Decides about a request. Counts and reserves nothing. */
	#decide(request: LimitedRequest, token: VerifiedToken | undefined, instant: Instant): LimitDecision {
		const { model, unpriced } = request;
		const { now } = instant;
		const { budgets, rates } = withTokenLimits(request, token);
		const limited = token !== undefined && hasBudget(token.limits);
		const opens = this.#windows.opensAt(rates, now);
		const grant = this.#budgets.grant(request.cost, budgets);
		const refusals: LimitRefusal[] = [];
		if (unpriced && limited)
			refusals.push({
				failure: "missingProviderKey",
				description: describeUnpriced(model, "token"),
				until: Number.POSITIVE_INFINITY,
			});
		if (opens > now) refusals.push({ failure: "rateLimited", until: opens });
		if (grant.kind === "refused") {
			const { budget, held, cost, remaining } = grant;
			const { failure, microNeurons, period } = budget;
			// The end of an open request is unknown, and a request that costs more than the complete budget is never admitted.
			const unknown = cost > microNeurons || cost <= remaining + held;
			refusals.push({
				failure,
				...(failure === "budgetExceeded" && { description: describeRefusal(grant) }),
				until: unknown ? Number.POSITIVE_INFINITY : period === "month" ? nextMonth(now) : nextMidnight(now),
			});
		}
		if (grant.kind === "refused" || refusals.length > 0)
			return { answer: longestRefusal(refusals, instant), rates, reserved: 0 };
		const { microNeurons: reserved, outputTokens } = grant;
		const answer: Admitted = {
			ok: true,
			...(outputTokens !== undefined && { outputTokens }),
			...(limited && { limited }),
		};
		return { answer, rates, reserved };
	}

	#read(): Instant {
		const instant = this.#clock.read();
		const { corrected, now } = instant;
		if (corrected !== undefined) logCorrection(corrected);
		// The new day may already have rows, from a time when the clock was ahead.
		if (corrected !== undefined || utcDay(now) !== this.#budgets.day) this.#rebuild(now);
		return instant;
	}

	/** A request that was admitted while the clock was ahead expires as long after `now` as planned after its admission. */
	#reserve(request: OpenRequest, now: number): void {
		const { admittedAt, expiresAt } = request;
		const held = admittedAt > now ? { ...request, expiresAt: now + (expiresAt - admittedAt) } : request;
		this.#open.set(request.ticket, held);
		this.#book(request, { spent: 0, reserved: request.reserved });
	}

	#book({ admittedAt, model, token }: OpenRequest, amount: { spent: number; reserved: number }): void {
		this.#budgets.book(utcDay(admittedAt), budgetKeys(model, token), amount);
	}
}
