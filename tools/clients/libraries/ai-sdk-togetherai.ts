import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/togetherai",
	packages: ["@ai-sdk/togetherai", ...AI_SDK],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	open: aiSdkClient("@ai-sdk/togetherai", "createTogetherAI", ({ base }) => `${base}/v1`),
};
