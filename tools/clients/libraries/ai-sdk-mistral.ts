import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/mistral",
	packages: ["@ai-sdk/mistral", ...AI_SDK],
	models: [KIMI, "mistral-medium-latest"],
	open: aiSdkClient("@ai-sdk/mistral", "createMistral", ({ base }) => `${base}/v1`),
};
