import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/vercel",
	packages: ["@ai-sdk/vercel", ...AI_SDK],
	models: [KIMI, "v0-1.5-md"],
	open: aiSdkClient("@ai-sdk/vercel", "createVercel", ({ base }) => `${base}/v1`),
};
