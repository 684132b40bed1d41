/**
 * The tokens whose requests succeeded lately. The connection guard, another process, takes their hashes, so that it knows callers by what
 * the gateway has verified, and not by what their requests say (scripts/connections/known-callers.ts). Without a guard nobody reads them.
 */
import { BoundedSet } from "../core/bounded-set.ts";
import type { Bearer } from "./credentials.ts";

/** The oldest are forgotten. */
const MAX_TOKENS = 1_000;

class AcceptedTokens {
	readonly #hashes = new BoundedSet<string>(MAX_TOKENS);

	/** A request with the credential was answered with success. The guard knows the operator's. */
	add({ credential }: Bearer): void {
		if (credential.kind === "token") this.#hashes.add(credential.hash);
	}

	/** The SHA-256 of those since the last call, in hexadecimal digits. */
	take(): string[] {
		const hashes = [...this.#hashes];
		this.#hashes.clear();
		return hashes;
	}
}

/** Of this process. */
export const acceptedTokens = new AcceptedTokens();
