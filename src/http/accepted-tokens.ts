/**
 * The tokens whose requests succeeded lately. Connection guards, other processes, read their hashes, so that they know callers by what
 * the gateway has verified, and not by what their requests say (scripts/connections/known-callers.ts).
 */
import type { Bearer } from "./credentials.ts";

/** The oldest are forgotten. */
const MAX_TOKENS = 1_000;

/** A part of the tokens. */
export interface NewTokens {
	/** Of the last one. The next part begins after it. */
	position: number;
	/** SHA-256, in hexadecimal digits. */
	hashes: string[];
}

class AcceptedTokens {
	/** When each hash was last accepted, as a number that rises with each request. The oldest is first. */
	readonly #positions = new Map<string, number>();
	#position = 0;

	/** A request with the credential was answered with success. The guard knows the operator's. */
	add({ credential }: Bearer): void {
		if (credential.kind !== "token") return;
		const { hash } = credential;
		this.#positions.delete(hash);
		this.#positions.set(hash, ++this.#position);
		if (this.#positions.size <= MAX_TOKENS) return;
		const [oldest] = this.#positions.keys();
		if (oldest !== undefined) this.#positions.delete(oldest);
	}

	/** Those that were accepted after the position. */
	after(position: number): NewTokens {
		const hashes = [...this.#positions].flatMap(([hash, at]) => (at > position ? [hash] : []));
		return { position: this.#position, hashes };
	}
}

/** Of this process. */
export const acceptedTokens = new AcceptedTokens();
