import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/openrouter",
	packages: ["@langchain/openrouter", "@langchain/core", "@langchain/openai"],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatOpenRouter: Model } = await load<{ ChatOpenRouter: Constructor }>("@langchain/openrouter");
		return langchain(context, new Model({ model, apiKey: token, baseURL: `${base}/v1` }));
	},
};
