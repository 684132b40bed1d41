/**
 * Forwards the requests of the runtime's `Ai` class to a running gateway, all on one route of its REST API. Method, headers
 * and body are unchanged; the header `X-Forwarded` has the original address, so this Worker needs no knowledge of paths.
 * Methods that the class calls over RPC become the same requests.
 */
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

interface ForwarderEnv {
	/** `…/ai/run/proxy` */
	PROXY: string;
	/** `…/vectorize/v2/indexes` */
	INDEXES: string;
	TOKEN?: string;
}

/** The argument of `websearch`. The gateway checks the other fields. */
interface WebSearchRequest {
	gatewayId: string;
	[field: string]: unknown;
}

const WIRE = "https://workers-binding.ai";

export default class Forwarder extends WorkerEntrypoint<ForwarderEnv> {
	override fetch(request: Request): Promise<Response> {
		return forward(request, this.env);
	}

	/** `gateway(id, { beta: true })`, and `gateway(id)` under the flag `experimental`. */
	gateway(id: string): Gateway {
		return new Gateway(id, this.env);
	}

	aiSearch(): never {
		throw named("AiError", "8001: Invalid input: a gateway that already runs has AI Search over REST only");
	}

	websearch(
		request: WebSearchRequest,
		params?: { extraHeaders?: Record<string, string> },
	): Promise<Response> {
		const { gatewayId, ...fields } = request;
		const headers = { ...params?.extraHeaders, "content-type": "application/json" };
		const body = JSON.stringify({ ...fields, options: { gateway: { id: gatewayId } } });
		return forward(new Request(`${WIRE}/websearch`, { method: "POST", headers, body }), this.env);
	}
}

class Gateway extends RpcTarget {
	readonly #id: string;
	readonly #env: ForwarderEnv;

	constructor(id: string, env: ForwarderEnv) {
		super();
		this.#id = encodeURIComponent(id);
		this.#env = env;
	}

	run(data: unknown, options?: { extraHeaders?: Record<string, string> } | null): Promise<Response> {
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
		throw named(name, errors?.[0]?.message ?? "Internal Error");
	}

	#send(path: string, init?: RequestInit): Promise<Response> {
		return forward(new Request(`${WIRE}/ai-gateway/${path}`, init), this.#env);
	}
}

/** The routes of the REST API that have other names than the requests of the runtime's class. */
const ROUTES: Readonly<Record<string, string>> = { getByIds: "get_by_ids", deleteByIds: "delete_by_ids" };

/** Forwards the requests of the runtime's `VectorizeIndex` class to the REST API, without its envelope. */
export class Vectorize extends WorkerEntrypoint<ForwarderEnv, { index: string }> {
	override async fetch(request: Request): Promise<Response> {
		const path = new URL(request.url).pathname.slice(1);
		const address = `${this.env.INDEXES}/${encodeURIComponent(this.ctx.props.index)}/${ROUTES[path] ?? path}`;
		const response = await send(new Request(address, request), this.env);
		const { result, errors } = await response.json<{
			result?: unknown;
			errors?: { code: number; message: string }[];
		}>();
		if (response.ok) return Response.json(result);
		const { code, message } = errors?.[0] ?? { code: undefined, message: `Status ${response.status}` };
		return Response.json({ code, error: message }, { status: response.status });
	}
}

const named = (name: string, message: string): Error => Object.assign(new Error(message), { name });

function forward(request: Request, env: ForwarderEnv): Promise<Response> {
	const forwarded = new Request(env.PROXY, request);
	forwarded.headers.set("x-forwarded", request.url);
	return send(forwarded, env);
}

async function send(request: Request, env: ForwarderEnv): Promise<Response> {
	const headers = new Headers(request.headers);
	if (env.TOKEN !== undefined) headers.set("authorization", `Bearer ${env.TOKEN}`);
	try {
		return await fetch(request, { headers, redirect: "manual" });
	} catch (error) {
		if (request.signal.aborted) throw error;
		return unreachable(new URL(env.PROXY).origin);
	}
}

/** A failure with the fields that `run` reads and those that the other methods read. */
function unreachable(origin: string): Response {
	const description = `No gateway answers on ${origin}: is it running?`;
	const body = {
		internalCode: 7009,
		name: "AiError",
		description,
		message: `AiError: ${description}`,
		httpCode: 502,
		errors: [{ code: 7009, message: description }],
		success: false,
	};
	return new Response(JSON.stringify(body), {
		status: body.httpCode,
		headers: { "content-type": "application/json" },
	});
}
