import { GEMINI_MODELS, KIMI, type Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/google",
	packages: ["@langchain/google", "@langchain/core"],
	models: [...GEMINI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatGoogle: Model } = await load<{ ChatGoogle: Constructor }>("@langchain/google");
		return langchain(context, new Model({ model, apiKey: token, endpoint: base }));
	},
};
