import { AI_SDK, aiSdk, type ProviderFactory } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/huggingface",
	packages: ["@ai-sdk/huggingface", ...AI_SDK],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	unsupported: {
		tools:
			'it leaves out the results of tools, with the warning "tool messages" (2.0.48, dist/index.js:161, `case "tool"`)',
	},
	async open(context) {
		const { base, load, model, token } = context;
		const { createHuggingFace } = await load<{ createHuggingFace: ProviderFactory }>("@ai-sdk/huggingface");
		const provider = createHuggingFace({ baseURL: `${base}/v1`, apiKey: token });
		// It writes bytes as numbers with commas between them (dist/index.js, `base64,${part.data.data}`).
		return aiSdk(context, provider(model), { imageAs: "base64" });
	},
};
