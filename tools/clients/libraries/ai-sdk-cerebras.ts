import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/cerebras",
	packages: ["@ai-sdk/cerebras", ...AI_SDK],
	models: [KIMI, "gpt-oss-120b"],
	open: aiSdkClient("@ai-sdk/cerebras", "createCerebras", ({ base }) => `${base}/v1`),
};
