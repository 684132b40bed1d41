/**
 * An isolate's cache of how far each account is below its limits. If the account has just admitted a similar request (same
 * token, gateway and model) and had room for many more, it will probably admit this one.
 *
 * The cache only decides whether the upstream call may start before the account has answered. The account's object still decides
 * about every request, and the response is held until it does. If it refuses, the engine's work until the cancellation is
 * not billed.
 */
import type { Admission, Admitted, Granted } from "../admission.ts";
import { maxCost } from "../durable/budgets.ts";
import { LOST_AFTER_MS } from "./admission-queue.ts";
import { classKey } from "./lease-demand.ts";

/** How long an answer of the account is used. */
const FRESH_MS = 1000;
/** The share of the headroom that may be used without an answer: other isolates use it too. */
const SHARE = 1 / 8;
/** Cached answers, and accounts with calls under way. At the bound the oldest is dropped. */
const MAX_ENTRIES = 1000;

interface Headroom {
	/** A budget limits the output. */
	bounded: boolean;
	/** The token has a budget of its own. */
	limited: boolean;
	/** Similar requests that would have been admitted after it. */
	remaining: number;
	/** Micro-neurons that the request could cost at most. */
	cost: number;
	freshUntil: number;
}

export class HeadroomCache {
	readonly #headrooms = new Map<string, Headroom>();
	/** By account: start times of the admissions that are not answered yet. Bounded, because a lost call is never released. */
	readonly #pending = new Map<string, number[]>();
	readonly #max: number;

	constructor(max = MAX_ENTRIES) {
		this.#max = max;
	}

	/** Records the account's answer to a call that started at `calledAt`. */
	record(account: string, admission: Admission, admitted: Admitted, calledAt: number): void {
		const key = keyOf(account, admission);
		this.#headrooms.delete(key);
		if (!admitted.ok || !admitted.remaining) return;
		const { limited = false, outputTokens, remaining } = admitted;
		this.#headrooms.set(key, {
			bounded: outputTokens !== undefined,
			limited,
			remaining,
			cost: maxCost(admission.cost),
			freshUntil: calledAt + FRESH_MS,
		});
		dropOldest(this.#headrooms, this.#max);
	}

	/** The expected answer, if there is enough headroom. The request then counts as pending until {@link release}. */
	reserve(account: string, admission: Admission, now: number): Granted | undefined {
		const headroom = this.#headrooms.get(keyOf(account, admission));
		if (!headroom || headroom.freshUntil <= now) return undefined;
		const { bounded, limited, remaining } = headroom;
		const cost = maxCost(admission.cost);
		const pending = this.#pendingOf(account, now);
		const costRatio = cost > headroom.cost ? cost / headroom.cost : 1;
		if (pending.length + 1 > (remaining / costRatio) * SHARE) return undefined;
		pending.push(now);
		this.#pending.set(account, pending);
		dropOldest(this.#pending, this.#max);
		const { outputTokens } = admission.cost;
		return { ...(bounded && { outputTokens }), ...(limited && { limited }) };
	}

	release(account: string): void {
		const pending = this.#pending.get(account);
		pending?.shift();
		if (pending?.length === 0) this.#pending.delete(account);
	}

	/** Accounts with pending admissions, lost ones included. */
	get pendingAccounts(): number {
		return this.#pending.size;
	}

	/** Start times of calls that may still be answered. Older calls are lost: the context of their request has ended. */
	#pendingOf(account: string, now: number): number[] {
		const pending = this.#pending.get(account) ?? [];
		const first = pending.findIndex((since) => now - since < LOST_AFTER_MS);
		return first === 0 ? pending : pending.slice(first < 0 ? pending.length : first);
	}
}

function dropOldest(entries: Map<string, unknown>, max: number): void {
	const [oldest] = entries.keys();
	if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}

const keyOf = (account: string, admission: Pick<Admission, "credential" | "model">): string =>
	`${account}\n${classKey(admission)}`;
