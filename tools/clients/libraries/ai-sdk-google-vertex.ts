import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { GEMINI_MODELS, KIMI, type Library } from "../library/client.ts";

/** With a key instead of a project: Vertex's express mode. */
export const client: Library = {
	title: "@ai-sdk/google-vertex",
	packages: ["@ai-sdk/google-vertex", ...AI_SDK],
	models: [...GEMINI_MODELS, KIMI],
	open: aiSdkClient("@ai-sdk/google-vertex", "createGoogleVertex", ({ base }) => `${base}/v1beta`),
};
