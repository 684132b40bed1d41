import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, key: string, config: { serverURL: string }) => object;

export const client: Library = {
	title: "@tanstack/ai-openrouter",
	packages: ["@tanstack/ai-openrouter", "@tanstack/ai", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	unsupported: {
		error:
			"it reads only OpenRouter's errors, whose `code` is a number (@openrouter/sdk, esm/models/unauthorizedresponseerrordata.js)",
	},
	async open(context) {
		const { base, load, model, token } = context;
		const { createOpenRouterText } = await load<{ createOpenRouterText: CreateChat }>(
			"@tanstack/ai-openrouter",
		);
		return tanstack(context, createOpenRouterText(model, token, { serverURL: `${base}/v1` }));
	},
};
