/**
 * `GET …/v1/models` and `…/v1/models/{model}`: the models that this gateway serves, the account's aliases of them, and
 * the aliases (`custom/{name}`) and dynamic routes of the request's gateway.
 * In OpenAI's format; in Anthropic's (https://docs.anthropic.com/en/api/models-list) if the request has
 * `anthropic-version`; in Google's if it has `x-goog-api-key`. Additional fields: `context_window`, `weights` as the
 * route of the model names them, and `alias_of` for an alias.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { ANTHROPIC_KEY, AUTHORIZATION, AZURE_KEY, GEMINI_KEYS } from "../../http/credentials.ts";
import { ANTHROPIC_VERSION, failureOfClient, GOOGLE_KEY } from "../../http/failure-formats.ts";
import { pathParameter, type RouteGroup } from "../../http/route.ts";
import type { Model } from "../../models/model.ts";
import { answer } from "../answer.ts";
import { geminiModels, showGeminiModel } from "../gemini/gemini-models.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import type { AppServices } from "../services.ts";
import { findModel, type ListedModel, listModels } from "./listed-models.ts";

const secondsOf = ({ created }: Model): number => Math.floor(Date.parse(created) / 1000) || 0;

const aliasOf = ({ id, model }: ListedModel): object => (id === model.id ? {} : { alias_of: model.id });

/**
 * OpenAI's four fields, and additions of other servers. Tools that configure agents read the context window by the name
 * that Groq uses (`context_window`), or by OpenRouter's (`context_length`).
 */
function openAiModel(listed: ListedModel, { routing }: Pick<AppServices, "routing">): object {
	const weights = routing.find(listed.model.id)?.targets[0]?.weights;
	const { author, task, contextWindow, capabilities } = listed.model;
	return {
		id: listed.id,
		object: "model",
		created: secondsOf(listed.model),
		owned_by: author,
		task,
		...(contextWindow !== undefined && { context_window: contextWindow, context_length: contextWindow }),
		...(capabilities.length > 0 && { capabilities }),
		...(weights !== undefined && { weights }),
		...aliasOf(listed),
	};
}

const anthropicModel = (listed: ListedModel): object => ({
	type: "model",
	id: listed.id,
	display_name: listed.id,
	created_at: new Date(secondsOf(listed.model) * 1000).toISOString(),
	max_input_tokens: listed.model.contextWindow ?? null,
	...(listed.model.contextWindow !== undefined && { context_window: listed.model.contextWindow }),
	...aliasOf(listed),
});

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

const PageQuery = lazy(() =>
	z.object({
		limit: z
			.string()
			.regex(/^[1-9]\d{0,3}$/, `expected a whole number from 1 to ${MAX_LIMIT}`)
			.transform(Number)
			.pipe(z.number().max(MAX_LIMIT))
			.default(DEFAULT_LIMIT),
		after_id: z.string().optional(),
		before_id: z.string().optional(),
	}),
);

/** An id that is not in the list counts as the position before the first model. */
function anthropicPage(listed: readonly ListedModel[], query: Record<string, string>): object {
	const { limit, after_id, before_id } = parseFields(PageQuery(), query, "query");
	const indexOf = (id: string): number => listed.findIndex((model) => model.id === id);
	const end = before_id === undefined ? listed.length : Math.max(0, indexOf(before_id));
	const start =
		before_id === undefined ? (after_id === undefined ? 0 : indexOf(after_id) + 1) : Math.max(0, end - limit);
	const page = listed.slice(start, Math.min(end, start + limit));
	return {
		data: page.map(anthropicModel),
		has_more: before_id === undefined ? start + limit < listed.length : start > 0,
		first_id: page[0]?.id ?? null,
		last_id: page.at(-1)?.id ?? null,
	};
}

export const MODELS = {
	tag: "Models",
	failure: failureOfClient,
	credentials: [AUTHORIZATION, { ...ANTHROPIC_KEY, requires: ANTHROPIC_VERSION }, AZURE_KEY, ...GEMINI_KEYS],
} satisfies Omit<RouteGroup, "bases">;

/** Also below a second `/v1`, because Anthropic's SDKs append it to their base address. */
export const MODEL_ROUTES: readonly AppRouteDeclaration[] = ["", "/v1"].flatMap(
	(base): AppRouteDeclaration[] => [
		{
			method: "GET",
			path: `${base}/models`,
			summary: "Lists the models that are served here and the account's aliases",
			query: PageQuery,
			permission: "read",
			output: answer("listedModelsAnswer"),
			handler: replyModels,
		},
		{
			method: "GET",
			path: `${base}/models/:model{.+}`,
			summary: "Shows a model",
			permission: "read",
			output: answer("listedModelAnswer"),
			handler: replyModel,
		},
	],
);

const isAnthropic = (c: Context): boolean => c.req.header(ANTHROPIC_VERSION) !== undefined;
const isGoogle = (c: Context): boolean => c.req.header(GOOGLE_KEY) !== undefined;

async function replyModels(c: Context, call: AppCall): Promise<Response> {
	if (isGoogle(c)) return geminiModels(c, call);
	const { caller, services } = call;
	const listed = await listModels(caller, c.req.raw.headers, services);
	if (isAnthropic(c)) return Response.json(anthropicPage(listed, c.req.query()));
	return Response.json({ object: "list", data: listed.map((model) => openAiModel(model, services)) });
}

async function replyModel(c: Context, call: AppCall): Promise<Response> {
	if (isGoogle(c)) return showGeminiModel(c, call);
	const { caller, services } = call;
	const id = pathParameter(c, "model");
	const found = await findModel(id, caller, c.req.raw.headers, services);
	if (isAnthropic(c)) {
		if (!found) throw new AiError("notFound", `model: ${id}`);
		return Response.json(anthropicModel(found));
	}
	if (found) return Response.json(openAiModel(found, services));
	// In OpenAI's format: clients call this route to check whether a model exists, and the product does not have it.
	const message = `The model '${id}' does not exist`;
	const error = { message, type: "invalid_request_error", param: "model", code: "model_not_found" };
	return Response.json({ error }, { status: 404 });
}
