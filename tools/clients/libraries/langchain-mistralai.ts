import { KIMI, type Library } from "../library/client.ts";
import { type ChatModel, describeByUrl, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/mistralai",
	packages: ["@langchain/mistralai", "@langchain/core"],
	models: [KIMI, "mistral-medium-latest"],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatMistralAI: Model } = await load<{ ChatMistralAI: Constructor }>("@langchain/mistralai");
		const chat = new Model({ model, apiKey: token, serverURL: base });
		return { ...(await langchain(context, chat)), describe: describeByUrl(chat) };
	},
};
