/**
 * Tokens that their accounts verified a moment ago. Before a large body is read the token must hold; clients that send
 * large bodies send many, and the verification is a call of the account's object.
 *
 * Only the reading of a body relies on this cache. Admission, which comes after it, asks the object every time, so a
 * revoked token runs nothing.
 */
import type { Credential, Ledgers } from "../accounts/admission.ts";

const VALID_MS = 1_000;
const MAX_TOKENS = 1_000;

export class VerifiedTokens {
	readonly #ledgers: Ledgers;
	readonly #now: () => number;
	/** Until when, by account and hash. */
	readonly #until = new Map<string, number>();

	constructor({ ledgers, now }: { ledgers: Ledgers; now(): number }) {
		this.#ledgers = ledgers;
		this.#now = now;
	}

	/** Throws `AiError` where the token may not run models. */
	async verify(account: string, credential: Credential): Promise<void> {
		if (credential.kind === "operator") return;
		const key = `${account}:${credential.hash}`;
		if ((this.#until.get(key) ?? 0) > this.#now()) return;
		await this.#ledgers.of(account).verify(credential, "run");
		if (this.#until.size >= MAX_TOKENS) this.#until.clear();
		this.#until.set(key, this.#now() + VALID_MS);
	}
}
