import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Groq = new (options: { baseURL: string; apiKey: string }) => Pick<OpenAI, "chat">;

export const client: Library = {
	title: "groq-sdk",
	packages: ["groq-sdk"],
	models: [KIMI],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: Groq }>("groq-sdk");
		return chatCompletions(new Client({ baseURL: base, apiKey: token }), model);
	},
};
