/**
 * Forwards the requests of the runtime's `Ai` class to a running gateway, all on one route of its REST API. Method, headers
 * and body are unchanged; the header `X-Forwarded` has the original address, so this Worker needs no knowledge of paths.
 * Methods that the class calls over RPC become the same requests.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError } from "../src/core/errors.ts";
import { bindingFailure } from "./binding-failure.ts";
import { type WebSearchRequest, type WireParams, webSearchCall } from "./web-search-call.ts";
import { errorNamed, WireGateway } from "./wire-gateway.ts";

interface ForwarderEnv {
	/** `…/ai/run/proxy` */
	PROXY: string;
	/** `…/vectorize/v2/indexes` */
	INDEXES: string;
	TOKEN?: string;
}

export default class Forwarder extends WorkerEntrypoint<ForwarderEnv> {
	override fetch(request: Request): Promise<Response> {
		return forward(request, this.env);
	}

	/** `gateway(id, { beta: true })`, and `gateway(id)` under the flag `experimental`. */
	gateway(id: string): WireGateway {
		return new WireGateway(id, (request) => forward(request, this.env));
	}

	aiSearch(): never {
		throw errorNamed(
			"AiError",
			"8001: Invalid input: a gateway that already runs has AI Search over REST only",
		);
	}

	websearch(request: WebSearchRequest, params?: WireParams): Promise<Response> {
		return forward(new Request(...webSearchCall(request, params)), this.env);
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
		const { origin } = new URL(env.PROXY);
		return bindingFailure(
			new AiError("upstreamUnavailable", `No gateway answers on ${origin}: is it running?`),
		);
	}
}
