/**
 * Google's Gemini API: `/client/v4/accounts/{account}/ai/v1beta/…`, and `/v1beta/…` for the token's account; also below
 * `/v1`, which `@google/genai` 3 calls. For Gemini CLI and Google's SDKs: the methods of `gemini-call.ts` and the list of
 * models. The credential is `x-goog-api-key`, `?key=` or `Authorization`. Failures have Google's format. Not in the product.
 *
 * The `@` and `/` of a model's id may be percent-encoded. The method follows the last `:`. LangChain and the AI SDK leave
 * out `models/` in front of an id with a slash.
 */
import type { Context } from "hono";
import { gatewayInHeaders, runModel } from "../../gateways/run/model-in-gateway.ts";
import { readJson } from "../../http/body.ts";
import { AUTHORIZATION, GEMINI_KEYS } from "../../http/credentials.ts";
import { geminiFailure } from "../../http/failure-formats.ts";
import {
	BY_MODEL,
	defineUnknown,
	pathParameter,
	type RouteGroup,
	type UnknownPaths,
} from "../../http/route.ts";
import { answer } from "../answer.ts";
import { AI, below, V1, V1BETA } from "../bases.ts";
import { GEMINI_BATCH_METHODS } from "../jobs/gemini-batch-format.ts";
import { createGeminiBatch, GEMINI_BATCHES, GEMINI_SINGLE_BATCHES } from "../jobs/gemini-batch-routes.ts";
import { GOOGLE_DECISIONS } from "../openai/decision-routes.ts";
import { dialectRoute } from "../openai/openai-route.ts";
import { type AppCall, type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import {
	callGemini,
	GEMINI_METHODS,
	type GeminiCall,
	geminiRun,
	runGemini,
	splitMethod,
} from "./gemini-call.ts";
import { geminiModels, PageQuery, showGeminiModel } from "./gemini-models.ts";

const GEMINI: RouteGroup = {
	bases: [below(AI, V1BETA.path), V1BETA],
	tag: "Gemini",
	failure: geminiFailure,
	credentials: [AUTHORIZATION, ...GEMINI_KEYS],
};

/** Of up to three segments: a longer path may be a provider's address of a gateway. Encoded slashes make no segment. */
const ID_WITHOUT_PREFIX = "[^/]+(?:/[^/]+)?(?:/[^/]+)?";

const methodRoute = (path: string): AppRouteDeclaration => ({
	method: "POST",
	path,
	summary: "Calls a method of a model, such as {model}:generateContent",
	input: { ...BY_MODEL, example: { contents: [{ parts: [{ text: "Hello, who are you?" }] }] } },
	output: BY_MODEL,
	permission: "run",
	lazy: true,
	handler: callMethod,
});

const METHOD_ROUTES: readonly AppRouteDeclaration[] = [
	methodRoute("/models/:model{.+}"),
	{
		...methodRoute(
			`/:call{${ID_WITHOUT_PREFIX}:(?:${[...GEMINI_METHODS, ...GEMINI_BATCH_METHODS].join("|")})}`,
		),
		hidden: true,
	},
];

export const geminiRoutes: readonly AppRoute[] = [
	...defineRoutes(GEMINI, [
		{
			method: "GET",
			path: "/models",
			summary: "Lists models as Gemini's API does",
			query: PageQuery,
			permission: "read",
			output: answer("geminiModelsAnswer"),
			handler: geminiModels,
		},
		{
			method: "GET",
			path: "/models/:model{.+}",
			summary: "Shows a model as Gemini's API does",
			permission: "read",
			output: answer("geminiModelAnswer"),
			handler: showGeminiModel,
		},
		{ ...dialectRoute("/decisions", GOOGLE_DECISIONS), failure: geminiFailure },
		...GEMINI_BATCHES,
		...METHOD_ROUTES,
	]),
	// The lists of models below /v1 are OpenAI's, which also answer in Google's format.
	...defineRoutes({ ...GEMINI, bases: [below(AI, V1.path), V1] }, [
		...GEMINI_SINGLE_BATCHES,
		...METHOD_ROUTES,
	]),
];

export const geminiUnknown: readonly UnknownPaths[] = defineUnknown(GEMINI, [{ path: "/*" }]);

/** Runs the model, in the gateway of `cf-aig-gateway-id`, or in the one that the token binds. */
async function callMethod(c: Context, { caller, id, services }: AppCall): Promise<Response> {
	const { headers, signal } = c.req.raw;
	const named = splitMethod(pathParameter(c, "model") || pathParameter(c, "call"));
	const sse = c.req.query("alt") === "sse";
	if (named.method !== undefined && GEMINI_BATCH_METHODS.includes(named.method))
		return createGeminiBatch(c, { caller, id, services }, { model: named.model, method: named.method });
	const read = async (): Promise<GeminiCall> => {
		const fields = await readJson(c.req.raw, services);
		return { ...named, id, caller, fields, headers, sse, signal };
	};
	if (!named.method || named.method === "countTokens") return callGemini(await read(), services);
	let prepared: ReturnType<typeof geminiRun>;
	return runModel(
		{
			...{ id, caller, signal, model: named.model },
			endpoint: () => c.req.path.slice(c.req.path.indexOf("/v1") + 1),
			format: () => `gemini ${named.method} ${sse}`,
			async read() {
				prepared = geminiRun(await read());
				if (!prepared) throw new TypeError("The method runs no model");
				return prepared.request;
			},
			// Without a name, models of providers run without a gateway, too.
			gateway: (model) => ({ ...gatewayInHeaders(headers, model), otherwise: undefined }),
			run: runGemini,
			respond(reply, requestId) {
				if (!prepared) throw new TypeError("The request has not been read");
				return prepared.respond(reply, requestId);
			},
			failure: geminiFailure,
		},
		services,
	);
}
