/**
 * Google's Gemini API: `/client/v4/accounts/{account}/ai/v1beta/…`, and `/v1beta/…` for the token's account. For Gemini
 * CLI and Google's SDKs: `generateContent`, `streamGenerateContent`, `countTokens`, and the list of models. The credential
 * is `x-goog-api-key`, `?key=` or `Authorization`. Failures have Google's format. Not in the product.
 *
 * The `@` and `/` of a model's id may be percent-encoded. The method follows the last `:`.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { readJson } from "../../http/body.ts";
import { AUTHORIZATION, GEMINI_KEYS } from "../../http/credentials.ts";
import { geminiFailure } from "../../http/failure-formats.ts";
import {
	BY_MODEL,
	type Call,
	defineRoutes,
	defineUnknown,
	pathParameter,
	type Route,
	type RouteGroup,
	type UnknownPaths,
} from "../../http/route.ts";
import { answer } from "../answer.ts";
import { AI, below, V1BETA } from "../bases.ts";
import { type ListedModel, listModels } from "../openai/model-routes.ts";
import { callGemini, GEMINI_ROUTE, splitMethod } from "./gemini-call.ts";

const METHODS = ["generateContent", "countTokens"];

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const nonNegativeInteger = lazy(() =>
	z
		.string()
		.regex(/^\d{1,6}$/, "expected a whole number")
		.transform(Number),
);
const PageQuery = lazy(() =>
	z.object({
		pageSize: nonNegativeInteger()
			.optional()
			.transform((size) => Math.min(size || DEFAULT_PAGE, MAX_PAGE)),
		pageToken: nonNegativeInteger()
			.optional()
			.transform((start) => start ?? 0),
	}),
);

const GEMINI: RouteGroup = {
	bases: [below(AI, V1BETA.path), V1BETA],
	tag: "Gemini",
	failure: geminiFailure,
	credentials: [AUTHORIZATION, ...GEMINI_KEYS],
};

export const geminiRoutes: readonly Route[] = defineRoutes(GEMINI, [
	{
		method: "GET",
		path: "/models",
		summary: "Lists chat models as Gemini's API does",
		query: PageQuery,
		permission: "read",
		output: answer("geminiModelsAnswer"),
		handler: list,
	},
	{
		method: "GET",
		path: "/models/:model{.+}",
		summary: "Shows a model as Gemini's API does",
		permission: "read",
		output: answer("geminiModelAnswer"),
		handler: showModel,
	},
	{
		method: "POST",
		path: "/models/:model{.+}",
		summary: "Calls generateContent, streamGenerateContent or countTokens of {model}:{method}",
		input: { ...BY_MODEL, example: { contents: [{ parts: [{ text: "Hello, who are you?" }] }] } },
		output: BY_MODEL,
		permission: "run",
		lazy: true,
		handler: callMethod,
	},
]);

async function showModel(c: Context, { caller, services }: Call): Promise<Response> {
	const id = pathParameter(c, "model");
	const found = (await listModels(caller, services)).find((listed) => listed.id === id);
	if (!found) throw new AiError("notFound", `models/${id} is not found`);
	return Response.json(modelJson(found));
}

export const geminiUnknown: readonly UnknownPaths[] = defineUnknown(GEMINI, [{ path: "/*" }]);

async function list(c: Context, { caller, services }: Call): Promise<Response> {
	const { pageSize, pageToken } = parseFields(PageQuery(), c.req.query(), "query");
	const listed = (await listModels(caller, services)).filter(({ model }) => model.task === GEMINI_ROUTE.task);
	const end = pageToken + pageSize;
	const next = end < listed.length ? { nextPageToken: String(end) } : {};
	return Response.json({ models: listed.slice(pageToken, end).map(modelJson), ...next });
}

async function callMethod(c: Context, { caller, id, services }: Call): Promise<Response> {
	const { raw } = c.req;
	return callGemini(
		{
			...splitMethod(pathParameter(c, "model")),
			id,
			caller,
			fields: await readJson(raw, services),
			headers: raw.headers,
			sse: c.req.query("alt") === "sse",
			signal: raw.signal,
		},
		services,
	);
}

const modelJson = ({ id, model }: ListedModel): object => ({
	name: `models/${id}`,
	baseModelId: model.id,
	version: "1",
	displayName: id,
	description: model.description,
	...(model.contextWindow !== undefined && {
		inputTokenLimit: model.contextWindow,
		outputTokenLimit: model.contextWindow,
	}),
	supportedGenerationMethods: METHODS,
});
