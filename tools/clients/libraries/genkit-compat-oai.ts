import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { genkit } from "../library/genkit.ts";

type OpenAiCompatible = (options: { name: string; apiKey: string; baseURL: string }) => object;

export const client: Library = {
	title: "genkit, @genkit-ai/compat-oai",
	packages: ["@genkit-ai/compat-oai", "genkit"],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { openAICompatible } = await load<{ openAICompatible: OpenAiCompatible }>("@genkit-ai/compat-oai");
		const plugin = openAICompatible({ name: "ganglion", apiKey: token, baseURL: `${base}/v1` });
		return genkit(context, plugin, `ganglion/${model}`);
	},
};
