import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/groq",
	packages: ["@ai-sdk/groq", ...AI_SDK],
	models: [KIMI, "llama-3.3-70b-versatile"],
	open: aiSdkClient("@ai-sdk/groq", "createGroq", ({ base }) => `${base}/v1`),
};
