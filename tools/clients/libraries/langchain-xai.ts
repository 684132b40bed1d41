import { KIMI, type Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/xai",
	packages: ["@langchain/xai", "@langchain/core", "@langchain/openai"],
	models: [KIMI, "grok-4.6"],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatXAI: Model } = await load<{ ChatXAI: Constructor }>("@langchain/xai");
		return langchain(context, new Model({ model, apiKey: token, baseURL: `${base}/v1` }));
	},
};
