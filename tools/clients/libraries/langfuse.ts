import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

export const client: Library = {
	title: "@langfuse/openai",
	packages: ["@langfuse/openai", "openai", "@opentelemetry/api"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: typeof OpenAI }>("openai");
		const { observeOpenAI } = await load<{ observeOpenAI(client: OpenAI): OpenAI }>("@langfuse/openai");
		return chatCompletions(observeOpenAI(new Client({ baseURL: `${base}/v1`, apiKey: token })), model);
	},
};
