import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/openai-compatible",
	packages: ["@ai-sdk/openai-compatible", ...AI_SDK],
	models: [...OPENAI_MODELS, KIMI],
	open: aiSdkClient("@ai-sdk/openai-compatible", "createOpenAICompatible", ({ base }) => `${base}/v1`),
};
