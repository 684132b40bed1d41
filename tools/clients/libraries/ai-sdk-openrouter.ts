import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

export const client: Library = {
	title: "@openrouter/ai-sdk-provider",
	packages: ["@openrouter/ai-sdk-provider", ...AI_SDK],
	models: [...OPENAI_MODELS, KIMI],
	open: aiSdkClient("@openrouter/ai-sdk-provider", "createOpenRouter", ({ base }) => `${base}/v1`),
};
