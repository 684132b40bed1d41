import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/moonshotai",
	packages: ["@ai-sdk/moonshotai", ...AI_SDK],
	models: [KIMI, "kimi-k2.6"],
	open: aiSdkClient("@ai-sdk/moonshotai", "createMoonshotAI", ({ base }) => `${base}/v1`),
};
