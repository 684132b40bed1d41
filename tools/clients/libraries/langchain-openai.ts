import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/openai",
	packages: ["@langchain/openai", "@langchain/core"],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatOpenAI: Model } = await load<{ ChatOpenAI: Constructor }>("@langchain/openai");
		return langchain(context, new Model({ model, apiKey: token, configuration: { baseURL: `${base}/v1` } }));
	},
};
