import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/xai",
	packages: ["@ai-sdk/xai", ...AI_SDK],
	models: [KIMI, "grok-4.6"],
	open: aiSdkClient("@ai-sdk/xai", "createXai", ({ base }) => `${base}/v1`),
};
