import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, key: string, config: { serverURL: string }) => object;

export const client: Library = {
	title: "@tanstack/ai-openrouter",
	packages: ["@tanstack/ai-openrouter", "@tanstack/ai", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	unsupported: {
		error:
			"its errors have no status: @openrouter/sdk 0.13.20 reads only errors whose `code` is a number (esm/models/unauthorizedresponseerrordata.js:9; OpenAI's is a text), and @tanstack/ai 0.58.0 leaves out the `statusCode` of all others (dist/esm/activities/error-payload.js:39, `extractCode`)",
	},
	async open(context) {
		const { base, load, model, token } = context;
		const { createOpenRouterText } = await load<{ createOpenRouterText: CreateChat }>(
			"@tanstack/ai-openrouter",
		);
		return tanstack(context, createOpenRouterText(model, token, { serverURL: `${base}/v1` }));
	},
};
