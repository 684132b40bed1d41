import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Together = new (options: { baseURL: string; apiKey: string }) => Pick<OpenAI, "chat">;

export const client: Library = {
	title: "together-ai",
	packages: ["together-ai"],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: Together }>("together-ai");
		return chatCompletions(new Client({ baseURL: `${base}/v1`, apiKey: token }), model);
	},
};
