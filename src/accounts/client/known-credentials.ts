/**
 * What an isolate knows of credentials that an account's object has verified, for a short time. It saves calls of the object; the object
 * still decides about every request that it admits.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import type { Credential } from "../admission.ts";
import type { VerifiedCredential } from "../bound-gateway.ts";
import { LEASE_MS } from "../lease.ts";

/** A revoked token is accepted for this time at most, as by a lease. */
const VERIFIED_MS = LEASE_MS;
/** A gateway that a token or an account binds. Only a hint of where to run a request. Milliseconds. */
const BOUND_GATEWAY_MS = 5_000;

export class KnownCredentials {
	/** Credentials of tokens that may run models. Not used if the account's object admits every request. */
	readonly #tokens: FreshCache<VerifiedCredential>;
	/** Verified accounts of the operator. */
	readonly #operator: FreshCache<VerifiedCredential>;
	/** Ids of gateways that credentials bind. */
	readonly #gateways: FreshCache<string>;
	/** Without any, requests need no look-up. */
	#hasGateways = false;

	constructor({ now }: { now(): number }) {
		this.#tokens = new FreshCache({ now, freshMs: VERIFIED_MS });
		this.#operator = new FreshCache({ now, freshMs: BOUND_GATEWAY_MS });
		this.#gateways = new FreshCache({ now, freshMs: BOUND_GATEWAY_MS });
	}

	verified(account: string, credential: Credential): VerifiedCredential | undefined {
		return this.#verifiedOf(credential).get(keyOf(account, credential));
	}

	setVerified(account: string, credential: Credential, facts: VerifiedCredential): void {
		this.#verifiedOf(credential).set(keyOf(account, credential), facts);
	}

	gateway(account: string, credential: Credential): string | undefined {
		return this.#hasGateways ? this.#gateways.get(keyOf(account, credential)) : undefined;
	}

	/** `gateway`: absent if the credential binds none. */
	setGateway(account: string, credential: Credential, gateway: string | undefined): void {
		this.#hasGateways ||= gateway !== undefined;
		if (!this.#hasGateways) return;
		const key = keyOf(account, credential);
		if (gateway !== undefined) this.#gateways.set(key, gateway);
		else if (this.#gateways.get(key) !== undefined) this.#gateways.delete(key);
	}

	#verifiedOf({ kind }: Credential): FreshCache<VerifiedCredential> {
		return kind === "operator" ? this.#operator : this.#tokens;
	}
}

const keyOf = (account: string, credential: Credential): string =>
	`${account}\n${credential.kind === "token" ? credential.hash : ""}`;
