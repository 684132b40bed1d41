import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/baseten",
	packages: ["@ai-sdk/baseten", ...AI_SDK],
	models: [KIMI, "zai-org/GLM-4.7"],
	open: aiSdkClient("@ai-sdk/baseten", "createBaseten", ({ base }) => `${base}/v1`),
};
