import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { GEMINI_MODELS, KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/google",
	packages: ["@ai-sdk/google", ...AI_SDK],
	models: [...GEMINI_MODELS, KIMI],
	open: aiSdkClient("@ai-sdk/google", "createGoogleGenerativeAI", ({ base }) => `${base}/v1beta`),
};
