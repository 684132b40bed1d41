/** Lists and shows models as Google's Gemini API does: chat models and embedding models. */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { pathParameter } from "../../http/route.ts";
import type { Model } from "../../models/model.ts";
import { findModel, type ListedModel, listModels } from "../openai/listed-models.ts";
import type { AppCall } from "../route.ts";

/** By the task of the model. */
const METHODS: Partial<Record<Model["task"], readonly string[]>> = {
	"Text Generation": ["generateContent", "countTokens"],
	"Text Embeddings": ["embedContent", "batchEmbedContents"],
};

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const nonNegativeInteger = lazy(() =>
	z
		.string()
		.regex(/^\d{1,6}$/, "expected a whole number")
		.transform(Number),
);
export const PageQuery = lazy(() =>
	z.object({
		pageSize: nonNegativeInteger()
			.optional()
			.transform((size) => Math.min(size || DEFAULT_PAGE, MAX_PAGE)),
		pageToken: nonNegativeInteger()
			.optional()
			.transform((start) => start ?? 0),
	}),
);

export async function geminiModels(c: Context, { caller, services }: AppCall): Promise<Response> {
	const { pageSize, pageToken } = parseFields(PageQuery(), c.req.query(), "query");
	const listed = (await listModels(caller, c.req.raw.headers, services)).filter(
		({ model }) => METHODS[model.task],
	);
	const end = pageToken + pageSize;
	const next = end < listed.length ? { nextPageToken: String(end) } : {};
	return Response.json({ models: listed.slice(pageToken, end).map(modelJson), ...next });
}

export async function showGeminiModel(c: Context, { caller, services }: AppCall): Promise<Response> {
	const id = pathParameter(c, "model");
	const found = await findModel(id, caller, c.req.raw.headers, services);
	if (!found) throw new AiError("notFound", `models/${id} is not found`);
	return Response.json(modelJson(found));
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
	supportedGenerationMethods: METHODS[model.task] ?? [],
});
