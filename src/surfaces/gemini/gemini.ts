/**
 * Google's Gemini API: `/client/v4/accounts/{account}/ai/v1beta/…`, and `/v1beta/…` for the token's account. For Gemini
 * CLI and Google's SDKs: `generateContent`, `streamGenerateContent`, `countTokens`, and the list of models. The credential
 * is `x-goog-api-key`, `?key=` or `Authorization`. Failures have Google's shape. Not in the product.
 *
 * A model's id may have its `@` and `/` percent-encoded or not. What follows the last `:` is the method.
 */
import { Hono } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { parseFields } from "../../http/account-request.ts";
import { callerOf } from "../../http/authenticate.ts";
import { readJson } from "../../http/body.ts";
import { tellable } from "../../http/error-disclosure.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { Services } from "../../pipeline/services.ts";
import { type ListedModel, listModels } from "../model-list.ts";
import { callGemini, GEMINI_ROUTE, geminiFailure, splitMethod } from "./gemini-call.ts";

const METHODS = ["generateContent", "countTokens"];

type Variables = { requestId: string; caller: Caller };

export function gemini(services: Services): Hono<{ Variables: Variables }> {
	const app = new Hono<{ Variables: Variables }>({ strict: false });
	const { limits, uuid } = services;

	app.use((c, next) => {
		c.set("requestId", uuid());
		c.set("caller", callerOf(c));
		return next();
	});
	app.onError(async (thrown, c) => {
		const error = await tellable(thrown, c.get("caller"), services);
		services.log(error, c.get("requestId"));
		return geminiFailure(error, c.get("requestId"));
	});

	app.get("/models", async (c) => {
		const { pageSize, pageToken } = parseFields(PageQuery, c.req.query(), "query");
		const listed = (await listModels(c.get("caller"), services)).filter(
			({ model }) => model.task === GEMINI_ROUTE.task,
		);
		const end = pageToken + pageSize;
		const next = end < listed.length ? { nextPageToken: String(end) } : {};
		return Response.json({ models: listed.slice(pageToken, end).map(shown), ...next });
	});
	app.get("/models/:model{.+}", async (c) => {
		const id = c.req.param("model").replace(/\/$/, "");
		const found = (await listModels(c.get("caller"), services)).find((listed) => listed.id === id);
		if (!found) throw new AiError("notFound", `models/${id} is not found`);
		return Response.json(shown(found));
	});
	app.post("/models/:call{.+}", async (c) => {
		const { raw } = c.req;
		return callGemini(
			{
				...splitMethod(c.req.param("call")),
				id: c.get("requestId"),
				caller: c.get("caller"),
				fields: await readJson(raw, limits),
				headers: raw.headers,
				sse: c.req.query("alt") === "sse",
				signal: raw.signal,
			},
			services,
		);
	});
	methodNotAllowed(app, ["/models", "/models/*"]);
	return app;
}

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const count = z
	.string()
	.regex(/^\d{1,6}$/, "expected a whole number")
	.transform(Number);
const PageQuery = z.object({
	pageSize: count.optional().transform((size) => Math.min(size || DEFAULT_PAGE, MAX_PAGE)),
	pageToken: count.optional().transform((start) => start ?? 0),
});

const shown = ({ id, model }: ListedModel): object => ({
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
