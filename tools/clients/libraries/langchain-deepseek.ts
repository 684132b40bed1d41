import { KIMI, type Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/deepseek",
	packages: ["@langchain/deepseek", "@langchain/core", "@langchain/openai"],
	models: [KIMI, "deepseek-chat"],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatDeepSeek: Model } = await load<{ ChatDeepSeek: Constructor }>("@langchain/deepseek");
		return langchain(context, new Model({ model, apiKey: token, configuration: { baseURL: `${base}/v1` } }));
	},
};
