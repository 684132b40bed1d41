import { type Library, OPENAI_MODELS } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, key: string, config: { baseURL: string }) => object;

export const client: Library = {
	title: "@tanstack/ai-openai",
	packages: ["@tanstack/ai-openai", "@tanstack/ai", "zod"],
	models: OPENAI_MODELS,
	async open(context) {
		const { base, load, model, token } = context;
		const { createOpenaiChat } = await load<{ createOpenaiChat: CreateChat }>("@tanstack/ai-openai");
		return tanstack(context, createOpenaiChat(model, token, { baseURL: `${base}/v1` }));
	},
};
