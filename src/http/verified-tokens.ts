/**
 * A cache of tokens that their accounts verified within the last second. The token must be valid before a large body is
 * read. Clients that send large bodies send many, and each verification is a call of the account's object.
 *
 * Only the reading of a body depends on this cache. Admission follows, and verifies the token within the last second too.
 */
import type { Credential, Ledgers } from "../accounts/admission.ts";
import type { VerifiedCredential } from "../accounts/bound-gateway.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { hasPassed } from "../core/elapsed.ts";

const VALID_MS = 1_000;
const MAX_TOKENS = 1_000;

export class VerifiedTokens {
	readonly #ledgers: Ledgers;
	readonly #now: () => number;
	/** By account and hash. */
	readonly #verified = new BoundedMap<string, { at: number; identity: VerifiedCredential }>(MAX_TOKENS);

	constructor({ ledgers, now }: { ledgers: Ledgers; now(): number }) {
		this.#ledgers = ledgers;
		this.#now = now;
	}

	/** Throws `AiError` if the token may not run models. */
	async verify(account: string, credential: Credential): Promise<VerifiedCredential> {
		if (credential.kind === "operator") return {};
		const key = `${account}:${credential.hash}`;
		const known = this.#verified.get(key);
		if (known && !hasPassed(VALID_MS, known.at, this.#now())) return known.identity;
		const identity = await this.#ledgers.of(account).verify(credential, "run");
		this.#verified.set(key, { at: this.#now(), identity });
		return identity;
	}
}
