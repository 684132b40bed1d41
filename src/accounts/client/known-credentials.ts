/**
 * What an isolate knows of credentials that an account's object has verified, for a short time. It saves calls of the object; the object
 * still decides about every request that it admits.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import { awaitedElsewhere } from "../../core/settled-elsewhere.ts";
import { withTimeout } from "../../core/with-timeout.ts";
import type { Credential } from "../admission.ts";
import type { VerifiedCredential } from "../bound-gateway.ts";
import { LEASE_MS } from "../lease.ts";

/** A revoked token is accepted for this time at most, as by a lease. */
const VERIFIED_MS = LEASE_MS;
/** A gateway that a token or an account binds. Only a hint of where to run a request. Milliseconds. */
const BOUND_GATEWAY_MS = 5_000;
/** A shared verification that takes longer may never end: the runtime may have ended the request that made it. */
const SHARED_MS = 500;
const LATE = new Error("the verification is late");

export class KnownCredentials {
	/** Credentials of tokens that may run models. Not used if the account's object admits every request. */
	readonly #tokens: FreshCache<VerifiedCredential>;
	/** Verified accounts of the operator. */
	readonly #operator: FreshCache<VerifiedCredential>;
	/** Ids of gateways that credentials bind. */
	readonly #gateways: FreshCache<string>;
	/** Verifications under way, which all requests and sockets of a credential share. */
	readonly #underWay = new Map<string, Promise<VerifiedCredential>>();
	/** Without any, requests need no look-up. */
	#hasGateways = false;

	constructor({ now }: { now(): number }) {
		this.#tokens = new FreshCache({ now, freshMs: VERIFIED_MS });
		this.#operator = new FreshCache({ now, freshMs: BOUND_GATEWAY_MS });
		this.#gateways = new FreshCache({ now, freshMs: BOUND_GATEWAY_MS });
	}

	/** The kept result, that of the verification under way, or that of `load`. Rejects as the verification does. */
	async verify(
		account: string,
		credential: Credential,
		load: () => Promise<VerifiedCredential>,
	): Promise<VerifiedCredential> {
		const verified = this.#verifiedOf(credential);
		const key = keyOf(account, credential);
		const known = verified.get(key);
		if (known) return known;
		for (let shared = this.#underWay.get(key); shared; shared = this.#underWay.get(key)) {
			try {
				return await withTimeout(shared, SHARED_MS, () => LATE);
			} catch (error) {
				if (error !== LATE) throw error;
				if (this.#underWay.get(key) === shared) this.#underWay.delete(key);
			}
		}
		const own = awaitedElsewhere(load());
		this.#underWay.set(key, own);
		try {
			const facts = await own;
			verified.set(key, facts);
			return facts;
		} finally {
			if (this.#underWay.get(key) === own) this.#underWay.delete(key);
		}
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
	`${credential.kind}\n${account}\n${credential.kind === "token" ? credential.hash : ""}`;
