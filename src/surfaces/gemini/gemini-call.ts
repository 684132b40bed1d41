/**
 * One call of a method of Google's Gemini API, `{model}:{method}`. For Gemini's routes, and for provider `google-ai-studio` of
 * AI Gateway.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { otherDialects } from "../../dialects/index.ts";
import { REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Caller, InferenceRequest, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import type { Services } from "../../pipeline/services.ts";
import { mapEvents } from "../../streams/sse.ts";
import { withWebSearch } from "../../websearch/with-web-search.ts";
import { countPromptTokens } from "../openai/count-tokens.ts";
import { onlyFor, type RouteDialect } from "../openai/route-dialect.ts";
import { countRequest } from "../rate-limited.ts";

const GEMINI_ROUTE: RouteDialect = {
	dialect: async () => (await otherDialects()).geminiContent,
	task: "Text Generation",
};

const runGemini = withWebSearch("gemini");

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

type Method = (call: GeminiCall, services: Services) => Promise<Response>;

export const GEMINI_METHODS: Readonly<Record<string, Method>> = {
	generateContent: (call, services) => generate(call, false, services),
	streamGenerateContent: (call, services) => generate(call, true, services),
	countTokens: count,
	embedContent: embed(async () => (await otherDialects()).geminiEmbedding),
	batchEmbedContents: embed(async () => (await otherDialects()).geminiEmbeddings),
};

export async function callGemini(call: GeminiCall, services: Services): Promise<Response> {
	const name = call.method ?? "";
	const method = Object.hasOwn(GEMINI_METHODS, name) ? GEMINI_METHODS[name] : undefined;
	if (method) return method(call, services);
	const problem = name === "" ? "No method" : `Unknown method ${name.slice(0, 64)}`;
	throw new AiError("noRoute", `${problem}: use ${Object.keys(GEMINI_METHODS).join(", ")}`);
}

async function generate(call: GeminiCall, stream: boolean, services: Services): Promise<Response> {
	const fields = { ...(isRecord(call.fields) ? call.fields : {}), stream };
	const reply = await runMethod(call, GEMINI_ROUTE, fields, services);
	const response = replyResponse(reply, call.id, WRAPS.bare);
	if (reply.body.kind !== "events" || call.sse) return response;
	const arrayHeaders = new Headers(response.headers);
	arrayHeaders.set("content-type", "application/json");
	return new Response(toJsonArray(reply.body.events), { headers: arrayHeaders });
}

function embed(dialect: RouteDialect["dialect"]): Method {
	const route: RouteDialect = { dialect, task: "Text Embeddings" };
	return async (call, services) =>
		replyResponse(await runMethod(call, route, call.fields, services), call.id, WRAPS.bare);
}

function runMethod(
	{ id, caller, model, headers, signal, observers }: GeminiCall,
	route: RouteDialect,
	fields: unknown,
	services: Services,
): Promise<Reply> {
	const dialect = onlyFor(route);
	const inputs = { fields };
	return runGemini(
		inferenceRequest({ id, caller, model, dialect, inputs, signal, headers, observers }),
		services,
	);
}

async function count(call: GeminiCall, services: Services): Promise<Response> {
	const { id, caller } = call;
	await countRequest("Token Count", caller, services);
	const { countedRequest } = await otherDialects();
	const fields = countedRequest(call.fields);
	const resolved = await resolveModel(call.model, caller, services);
	const totalTokens = await countPromptTokens(fields, await onlyFor(GEMINI_ROUTE)(resolved.model), resolved);
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
