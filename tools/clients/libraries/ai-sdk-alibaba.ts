import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/alibaba",
	packages: ["@ai-sdk/alibaba", ...AI_SDK],
	models: [KIMI, "qwen3.7-max"],
	open: aiSdkClient("@ai-sdk/alibaba", "createAlibaba", ({ base }) => `${base}/v1`),
};
