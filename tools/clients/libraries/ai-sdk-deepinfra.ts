import { AI_SDK, aiSdk, type ProviderFactory } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/deepinfra",
	packages: ["@ai-sdk/deepinfra", ...AI_SDK],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	async open(context) {
		const { base, load, model, token } = context;
		const { createDeepInfra } = await load<{ createDeepInfra: ProviderFactory }>("@ai-sdk/deepinfra");
		const provider = createDeepInfra({
			baseURL: base,
			apiKey: token,
			// Its paths begin with `/openai`.
			fetch: (url, init) => fetch(String(url).replace("/ai/openai/", "/ai/v1/"), init),
		});
		return aiSdk(context, provider(model));
	},
};
