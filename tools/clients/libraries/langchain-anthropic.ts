import { CLAUDE_MODELS, KIMI, type Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/anthropic",
	packages: ["@langchain/anthropic", "@langchain/core"],
	models: [...CLAUDE_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatAnthropic: Model } = await load<{ ChatAnthropic: Constructor }>("@langchain/anthropic");
		return langchain(context, new Model({ model, apiKey: token, anthropicApiUrl: base, maxTokens: 1024 }));
	},
};
