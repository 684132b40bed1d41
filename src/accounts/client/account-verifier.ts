/** Verifies credentials at one account's object, or by what the isolate knows of them for a short time. */
import type { CountedRequest, Credential, Permission } from "../admission.ts";
import type { VerifiedCredential } from "../bound-gateway.ts";
import { AccountReader, type AccountReaderServices, refusal } from "./account-object.ts";
import type { KnownCredentials } from "./known-credentials.ts";

interface AccountVerifierServices extends AccountReaderServices {
	/** Every request asks the object. */
	exact?: boolean | undefined;
	credentials: KnownCredentials;
}

export abstract class AccountVerifier extends AccountReader {
	readonly #account: string;
	readonly #services: AccountVerifierServices;

	constructor(account: string, services: AccountVerifierServices) {
		super(account, services);
		this.#account = account;
		this.#services = services;
	}

	async verify(
		credential: Credential,
		permission: Permission,
		request?: CountedRequest,
	): Promise<VerifiedCredential> {
		const isOperator = credential.kind === "operator";
		if (isOperator && !request && permission !== "run") return {};
		const mayCache = permission === "run" && !request && (isOperator || !this.#services.exact);
		if (mayCache) return this.verifyRecently(credential);
		return this.#verify(credential, permission, request);
	}

	async verifyRecently(credential: Credential): Promise<VerifiedCredential> {
		const { credentials } = this.#services;
		const known = credentials.verified(this.#account, credential);
		if (known) return known;
		const facts = await this.#verify(credential, "run");
		credentials.setVerified(this.#account, credential, facts);
		return facts;
	}

	async #verify(
		credential: Credential,
		permission: Permission,
		request?: CountedRequest,
	): Promise<VerifiedCredential> {
		const answer = await this.object.checkedCall(credential, async (calls) =>
			calls.verify(credential, permission, request),
		);
		this.#services.credentials.setGateway(this.#account, credential, answer.gateway?.id);
		if (!answer.ok) throw refusal(answer);
		const { ok: _, ...facts } = answer;
		return facts;
	}

	knownGateway(credential: Credential): string | undefined {
		return this.#services.credentials.gateway(this.#account, credential);
	}
}
