/** Turns the calls that the runtime's `Ai` class makes over RPC into the requests that it sends otherwise. */
import { RpcTarget } from "cloudflare:workers";
import { WIRE, type WireParams } from "./web-search-call.ts";

/** `env.AI.gateway(id)` */
export class WireGateway extends RpcTarget {
	readonly #id: string;
	readonly #fetch: (request: Request) => Promise<Response>;

	constructor(id: string, fetch: (request: Request) => Promise<Response>) {
		super();
		this.#id = encodeURIComponent(id);
		this.#fetch = fetch;
	}

	run(data: unknown, options?: WireParams | null): Promise<Response> {
		const headers = { ...options?.extraHeaders, "content-type": "application/json" };
		return this.#send(`universal/run/${this.#id}`, { method: "POST", body: JSON.stringify(data), headers });
	}

	async getUrl(provider = "universal"): Promise<string> {
		const result = await this.#result(`url/${encodeURIComponent(provider)}`);
		return (result as { url: string }).url;
	}

	getLog(log: string): Promise<unknown> {
		return this.#result(`logs/${encodeURIComponent(log)}`);
	}

	async patchLog(log: string, data: unknown): Promise<void> {
		const body = JSON.stringify(data);
		await this.#result(`logs/${encodeURIComponent(log)}`, { method: "PATCH", body });
	}

	/** The `result` of one of the gateway's resources. Throws the same errors as the runtime's class. */
	async #result(path: string, init?: RequestInit): Promise<unknown> {
		const response = await this.#send(`gateways/${this.#id}/${path}`, init);
		const { result, errors } = await response.json<{ result?: unknown; errors?: { message: string }[] }>();
		if (response.ok) return result;
		const name = response.status === 404 ? "AiGatewayLogNotFound" : "AiGatewayInternalError";
		throw errorNamed(name, errors?.[0]?.message ?? "Internal Error");
	}

	#send(path: string, init?: RequestInit): Promise<Response> {
		return this.#fetch(new Request(`${WIRE}/ai-gateway/${path}`, init));
	}
}

export const errorNamed = (name: string, message: string): Error =>
	Object.assign(new Error(message), { name });
