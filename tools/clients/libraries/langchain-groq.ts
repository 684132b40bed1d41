import { KIMI, type Library } from "../library/client.ts";
import { type ChatModel, describeByUrl, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

export const client: Library = {
	title: "@langchain/groq",
	packages: ["@langchain/groq", "@langchain/core"],
	models: [KIMI, "llama-3.3-70b-versatile"],
	async open(context) {
		const { base, load, model, token } = context;
		const { ChatGroq: Model } = await load<{ ChatGroq: Constructor }>("@langchain/groq");
		// Its paths begin with `/openai`.
		const toGateway = (url: string, init?: RequestInit) =>
			fetch(url.replace("/ai/openai/v1/", "/ai/v1/"), init);
		const chat = new Model({ model, apiKey: token, baseUrl: base, fetch: toGateway });
		return { ...(await langchain(context, chat)), describe: describeByUrl(chat) };
	},
};
