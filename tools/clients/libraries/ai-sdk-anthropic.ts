import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { CLAUDE_MODELS, KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/anthropic",
	packages: ["@ai-sdk/anthropic", ...AI_SDK],
	models: [...CLAUDE_MODELS, KIMI],
	open: aiSdkClient("@ai-sdk/anthropic", "createAnthropic", ({ base }) => `${base}/v1`),
};
