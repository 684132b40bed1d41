import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/deepseek",
	packages: ["@ai-sdk/deepseek", ...AI_SDK],
	models: [KIMI, "deepseek-chat"],
	open: aiSdkClient("@ai-sdk/deepseek", "createDeepSeek", ({ base }) => `${base}/v1`),
};
