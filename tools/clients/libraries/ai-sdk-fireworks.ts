import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/fireworks",
	packages: ["@ai-sdk/fireworks", ...AI_SDK],
	models: [KIMI, "accounts/fireworks/models/kimi-k2p6"],
	open: aiSdkClient("@ai-sdk/fireworks", "createFireworks", ({ base }) => `${base}/v1`),
};
