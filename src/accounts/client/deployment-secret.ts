/** An isolate's copy of a random secret of the deployment, which the `Directory` keeps. It survives restarts and needs no setting. */
import type { Directory } from "../durable/directory.ts";

interface DeploymentSecretServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	directory(): Pick<DurableObjectStub<Directory>, "secret">;
	failed(cause: unknown): void;
}

export class DeploymentSecret {
	readonly #name: string;
	readonly #services: DeploymentSecretServices;
	#value: Uint8Array | undefined;

	constructor(name: string, services: DeploymentSecretServices) {
		this.#name = name;
		this.#services = services;
	}

	/** `undefined` if the directory cannot be called. Requests do not share a call: each can only wait for its own. */
	async get(): Promise<Uint8Array | undefined> {
		if (this.#value) return this.#value;
		const { directory, failed } = this.#services;
		try {
			this.#value = await directory().secret(this.#name);
		} catch (cause) {
			failed(cause);
		}
		return this.#value;
	}
}
