/**
 * The callers whose token the gateway has accepted lately. Each has a part of the runtime's time of its own (`pace.ts`); all others share
 * that of their address. The gateway tells the tokens that it has verified: a request with success may have further credentials, which are
 * invented, and a path without a credential answers to any.
 *
 * A token has a part at each of its addresses. With one part for all addresses, 50 callers who use the token of one application waited beside
 * 64 hostile patterns: their p50 was 405 ms instead of 15.
 */
import { hash } from "node:crypto";
import { BoundedSet } from "../../src/core/bounded-set.ts";
import { listedProtocols, tokenInProtocols } from "../../src/http/credentials.ts";
import { KEY_HEADERS, PROTOCOLS } from "./credential-headers.ts";
import type { MessageHead } from "./framing.ts";
import type { PacedCaller } from "./pace.ts";

/** The oldest is forgotten first. */
const MAX_CALLERS = 10_000;
/** Compared with an accepted token. */
const WEIGHT_OF_STRANGERS = 0.2;
/** A longer text is no token. */
const MAX_CHARACTERS = 1_024;

const SCHEME = /^(?:bearer|token|key) +/i;

/** The hashes of the texts that may be the request's token, without their schemes. */
export function credentialsOf({ headers, startLine: [, target = ""] }: MessageHead): string[] {
	const texts = KEY_HEADERS.map((name) => headers.get(name)?.replace(SCHEME, ""));
	const protocols = headers.get(PROTOCOLS);
	if (protocols) texts.push(tokenInProtocols(listedProtocols(protocols)));
	if (target.includes("key="))
		texts.push(new URLSearchParams(target.slice(target.indexOf("?") + 1)).get("key") ?? undefined);
	return texts.flatMap((text) => (text && text.length <= MAX_CHARACTERS ? [hash("sha256", text)] : []));
}

export class KnownCallers {
	readonly #operatorHash: () => string | undefined;
	/** By hash. */
	readonly #accepted = new BoundedSet<string>(MAX_CALLERS);

	/** `operatorHash`: SHA-256 of the operator's token, in hexadecimal digits. That token is always accepted. */
	constructor(operatorHash: () => string | undefined = () => undefined) {
		this.#operatorHash = operatorHash;
	}

	/** The hashes of tokens that the gateway has verified. Returns those that are new. */
	accept(hashes: readonly string[]): string[] {
		const added: string[] = [];
		for (const one of hashes) {
			if (!this.#accepted.delete(one)) added.push(one);
			// The newest again.
			this.#accepted.add(one);
		}
		return added;
	}

	/** The gateway refused the credentials of a request (401). */
	forget(credentials: readonly string[]): void {
		for (const one of credentials) this.#accepted.delete(one);
	}

	of(address: string, credentials: readonly string[]): PacedCaller {
		const accepted = this.#acceptedOf(credentials);
		return accepted === undefined
			? { key: address, weight: WEIGHT_OF_STRANGERS }
			: { key: `${address} ${accepted}`, weight: 1 };
	}

	/** Whether one of the credentials is the operator's token. */
	isOperator(credentials: readonly string[]): boolean {
		const operator = this.#operatorHash();
		return credentials.some((one) => one === operator);
	}

	isKnown(credentials: readonly string[]): boolean {
		return this.#acceptedOf(credentials) !== undefined;
	}

	/** Of several, always the same one. */
	#acceptedOf(credentials: readonly string[]): string | undefined {
		const operator = this.#operatorHash();
		return credentials.find((one) => one === operator || this.#accepted.has(one));
	}
}
