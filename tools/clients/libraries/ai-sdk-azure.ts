import { AI_SDK, aiSdk, type ProviderFactory } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/azure",
	packages: ["@ai-sdk/azure", ...AI_SDK],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { createAzure } = await load<{ createAzure: ProviderFactory }>("@ai-sdk/azure");
		return aiSdk(context, createAzure({ baseURL: `${base}/v1`, apiKey: token })(model));
	},
};
