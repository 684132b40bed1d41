/**
 * A cache of tokens that their accounts verified within the last second. The token must be valid before a large body is
 * read. Clients that send large bodies send many, and each verification is a call of the account's object.
 *
 * Only the reading of a body depends on this cache. Admission follows, and verifies the token within the last second too.
 */
import type { Credential, Ledgers } from "../accounts/admission.ts";

const VALID_MS = 1_000;
const MAX_TOKENS = 1_000;

export class VerifiedTokens {
	readonly #ledgers: Ledgers;
	readonly #now: () => number;
	/** When each entry expires, by account and hash. */
	readonly #expiry = new Map<string, number>();

	constructor({ ledgers, now }: { ledgers: Ledgers; now(): number }) {
		this.#ledgers = ledgers;
		this.#now = now;
	}

	/** Throws `AiError` if the token may not run models. */
	async verify(account: string, credential: Credential): Promise<void> {
		if (credential.kind === "operator") return;
		const key = `${account}:${credential.hash}`;
		if ((this.#expiry.get(key) ?? 0) > this.#now()) return;
		await this.#ledgers.of(account).verify(credential, "run");
		if (this.#expiry.size >= MAX_TOKENS) this.#expiry.clear();
		this.#expiry.set(key, this.#now() + VALID_MS);
	}
}
