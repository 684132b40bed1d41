import { GEMINI_MODELS, type Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/google-genai",
	packages: ["@langchain/google-genai", "@langchain/core"],
	models: GEMINI_MODELS,
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatGoogleGenerativeAI: Model } = await load<{ ChatGoogleGenerativeAI: Constructor }>(
			"@langchain/google-genai",
		);
		return langchain(context, new Model({ model, apiKey: token, baseUrl: base }));
	},
};
