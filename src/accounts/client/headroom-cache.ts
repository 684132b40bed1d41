/**
 * What an isolate may take for granted of an account: a request like one that was let in a moment ago, of the same
 * token and for the same model, will be let in too where there was room for many more.
 *
 * It only says whether an engine may be asked before the account has answered. Every request is still admitted by the
 * account's object, exactly, and nobody gets an answer before: what is taken for granted here and refused there has
 * cost what the engine did until it was stopped, which nobody is billed for.
 */
import type { Admission, Admitted, Granted } from "../admission.ts";
import { maxCost } from "../durable/budgets.ts";
import { LOST_AFTER_MS } from "./admission-queue.ts";

/** So long a word of the account's counts. */
const LEEWAY_MS = 1000;
/** At most this part of the room is used at once without an answer: other isolates use it too. */
const SHARE = 1 / 8;
/** Answers, and accounts with calls under way. Beyond it the oldest is dropped. */
const MAX_ENTRIES = 1000;

interface Known {
	/** Whether the account bounds what may be said. */
	bounded: boolean;
	limited: boolean;
	/** Requests like it that would have been let in after it. */
	remaining: number;
	/** Micro-neurons that it could cost. */
	price: number;
	until: number;
}

export class Leeway {
	readonly #known = new Map<string, Known>();
	/** When those went ahead, by account, that were not answered yet. Lost calls would remain, so it has a bound. */
	readonly #unanswered = new Map<string, number[]>();
	readonly #max: number;

	constructor(max = MAX_ENTRIES) {
		this.#max = max;
	}

	/** An account's answer to a call that was made then. */
	learn(account: string, admission: Admission, admitted: Admitted, askedAt: number): void {
		const key = keyOf(account, admission);
		this.#known.delete(key);
		if (!admitted.ok || !admitted.remaining) return;
		const { limited = false, outputTokens, remaining } = admitted;
		this.#known.set(key, {
			bounded: outputTokens !== undefined,
			limited,
			remaining,
			price: maxCost(admission.cost),
			until: askedAt + LEEWAY_MS,
		});
		dropOldest(this.#known, this.#max);
	}

	/** What the request will be granted. It then counts as unanswered until {@link release}. */
	take(account: string, admission: Admission, now: number): Granted | undefined {
		const known = this.#known.get(keyOf(account, admission));
		if (!known || known.until <= now) return undefined;
		const { bounded, limited, remaining } = known;
		const price = maxCost(admission.cost);
		const unanswered = this.#stillUnanswered(account, now);
		const dearer = price > known.price ? price / known.price : 1;
		if (unanswered.length + 1 > (remaining / dearer) * SHARE) return undefined;
		unanswered.push(now);
		this.#unanswered.set(account, unanswered);
		dropOldest(this.#unanswered, this.#max);
		const { outputTokens } = admission.cost;
		return { ...(bounded && { outputTokens }), ...(limited && { limited }) };
	}

	release(account: string): void {
		const unanswered = this.#unanswered.get(account);
		unanswered?.shift();
		if (unanswered?.length === 0) this.#unanswered.delete(account);
	}

	/** Calls under way, lost ones among them. */
	get unansweredAccounts(): number {
		return this.#unanswered.size;
	}

	/** A request whose context has ended never hears its answer, and nobody else may. */
	#stillUnanswered(account: string, now: number): number[] {
		const all = this.#unanswered.get(account) ?? [];
		const lost = all.findIndex((since) => now - since < LOST_AFTER_MS);
		return lost === 0 ? all : all.slice(lost < 0 ? all.length : lost);
	}
}

function dropOldest(entries: Map<string, unknown>, max: number): void {
	const [oldest] = entries.keys();
	if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}

const keyOf = (account: string, { credential, model }: Pick<Admission, "credential" | "model">): string =>
	`${account}\n${credential.kind === "token" ? credential.hash : ""}\n${model}`;
