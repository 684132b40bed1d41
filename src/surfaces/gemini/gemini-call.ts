/**
 * One call of a method of Google's Gemini API, `{model}:{method}`. For Gemini's routes, and for provider `google-ai-studio` of
 * AI Gateway.
 */
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { withSurfaceFields } from "../../dialects/gemini/surface-fields.ts";
import { otherDialects } from "../../dialects/index.ts";
import { onlyFor, type RouteDialect } from "../../dialects/route-dialect.ts";
import { countRequest } from "../../http/count-request.ts";
import { REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Caller, InferenceRequest, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { mapEvents } from "../../streams/sse.ts";
import type { SearchServices } from "../../websearch/services.ts";
import { withSearchTexts, withWebSearch } from "../../websearch/with-web-search.ts";
import { countPromptTokens } from "../openai/count-tokens.ts";

const GEMINI_ROUTE: RouteDialect = {
	dialect: async () => (await otherDialects()).geminiContent,
	task: "Text Generation",
};

export const runGemini = withWebSearch("gemini");

export interface GeminiCall {
	id: string;
	caller: Caller;
	/** An id of the catalogue or an alias. */
	model: string;
	method?: string;
	/** The body. */
	fields: unknown;
	headers: Headers;
	/** `alt=sse`. If false, a stream is one JSON array. */
	sse: boolean;
	signal: AbortSignal;
	observers?: InferenceRequest["observers"] | undefined;
}

/** `{model}:{method}`: the method follows the last colon. */
export function splitMethod(path: string): { model: string; method?: string } {
	const [, model, method] = /^(.+):(\w+)$/.exec(path) ?? [];
	return model !== undefined && method !== undefined ? { model, method } : { model: path };
}

interface Method {
	route: RouteDialect;
	fields(call: GeminiCall): unknown;
	respond(reply: Reply, call: GeminiCall, requestId: string): Response;
}

const RUN_METHODS: Readonly<Record<string, Method>> = {
	generateContent: generates(false),
	streamGenerateContent: generates(true),
	embedContent: embeds(async () => (await otherDialects()).geminiEmbedding),
	batchEmbedContents: embeds(async () => (await otherDialects()).geminiEmbeddings),
};
export const GEMINI_METHODS: readonly string[] = [...Object.keys(RUN_METHODS), "countTokens"];

export async function callGemini(call: GeminiCall, services: SearchServices): Promise<Response> {
	const prepared = geminiRun(call);
	if (!prepared) return count(call, services);
	return prepared.respond(await runGemini(prepared.request, services), call.id);
}

/** A method that runs a model. `undefined`: it only counts tokens. Throws 7000 for an unknown one. */
export function geminiRun(
	call: GeminiCall,
): { request: InferenceRequest; respond(reply: Reply, requestId: string): Response } | undefined {
	const { fields: _, method: name = "", sse: __, ...request } = call;
	if (name === "countTokens") return undefined;
	const method = own(RUN_METHODS, name);
	if (!method) {
		const problem = name === "" ? "No method" : `Unknown method ${name.slice(0, 64)}`;
		throw new AiError("noRoute", `${problem}: use ${GEMINI_METHODS.join(", ")}`);
	}
	const inputs = { fields: method.fields(call) };
	return {
		request: inferenceRequest({ ...request, dialect: onlyFor(method.route), inputs }),
		respond: (reply, requestId) => method.respond(reply, call, requestId),
	};
}

function generates(stream: boolean): Method {
	return {
		route: GEMINI_ROUTE,
		fields: ({ fields }) => withSurfaceFields(fields, { stream }),
		respond(reply, { sse }, requestId) {
			const response = replyResponse(reply, requestId, WRAPS.bare);
			if (reply.body.kind !== "events" || sse) return response;
			const arrayHeaders = new Headers(response.headers);
			arrayHeaders.set("content-type", "application/json");
			return new Response(toJsonArray(reply.body.events), { headers: arrayHeaders });
		},
	};
}

function embeds(dialect: RouteDialect["dialect"]): Method {
	return {
		route: { dialect, task: "Text Embeddings" },
		fields: ({ fields }) => fields,
		respond: (reply, _, requestId) => replyResponse(reply, requestId, WRAPS.bare),
	};
}

async function count(call: GeminiCall, services: SearchServices): Promise<Response> {
	const { id, caller } = call;
	await countRequest("Token Count", caller, services);
	const { countedRequest } = await otherDialects();
	const fields = countedRequest(call.fields);
	const resolved = await resolveModel(call.model, caller, services);
	const sent = { fields, dialect: await onlyFor(GEMINI_ROUTE)(resolved.model) };
	const counted = await withSearchTexts(sent, { name: "gemini", account: caller.account }, services);
	const totalTokens = await countPromptTokens(counted, resolved);
	return Response.json({ totalTokens }, { headers: { [REQUEST_ID]: id } });
}

/** Writes the events as the elements of one JSON array. */
function toJsonArray(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	let started = false;
	return mapEvents(events, {
		onData(data) {
			const out = `${started ? ",\n" : "["}${data}`;
			started = true;
			return out;
		},
		// A comment becomes white space between elements, which keeps the connection open.
		onComment: () => "\n",
		onEnd: () => (started ? "]\n" : "[]\n"),
	});
}
