import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

export const client: Library = {
	title: "braintrust",
	packages: ["braintrust", "openai", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: typeof OpenAI }>("openai");
		const { wrapOpenAI } = await load<{ wrapOpenAI(client: OpenAI): OpenAI }>("braintrust");
		return chatCompletions(wrapOpenAI(new Client({ baseURL: `${base}/v1`, apiKey: token })), model);
	},
};
