import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/openai, chat",
	packages: ["@ai-sdk/openai", ...AI_SDK],
	models: [...OPENAI_MODELS, KIMI],
	open: aiSdkClient(
		"@ai-sdk/openai",
		"createOpenAI",
		({ base }) => `${base}/v1`,
		(provider, model) => provider.chat(model),
	),
};
