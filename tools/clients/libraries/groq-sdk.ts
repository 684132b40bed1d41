import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Groq = new (options: {
	baseURL: string;
	apiKey: string;
	fetch(url: string, init?: RequestInit): Promise<Response>;
}) => Pick<OpenAI, "chat">;

export const client: Library = {
	title: "groq-sdk",
	packages: ["groq-sdk"],
	models: [KIMI, "llama-3.3-70b-versatile"],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: Groq }>("groq-sdk");
		return chatCompletions(
			new Client({
				baseURL: base,
				apiKey: token,
				// Its paths begin with `/openai`.
				fetch: (url, init) => fetch(url.replace("/ai/openai/v1/", "/ai/v1/"), init),
			}),
			model,
		);
	},
};
