import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/huggingface",
	packages: ["@ai-sdk/huggingface", ...AI_SDK],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	unsupported: { tools: 'it leaves out the results of tools, with the warning "tool messages"' },
	open: aiSdkClient("@ai-sdk/huggingface", "createHuggingFace", ({ base }) => `${base}/v1`),
};
