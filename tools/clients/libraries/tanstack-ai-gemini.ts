import { GEMINI_MODELS, type Library } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, key: string, config: { httpOptions: { baseUrl: string } }) => object;

export const client: Library = {
	title: "@tanstack/ai-gemini",
	packages: ["@tanstack/ai-gemini", "@tanstack/ai", "zod"],
	models: GEMINI_MODELS,
	async open(context) {
		const { base, load, model, token } = context;
		const { createGeminiChat } = await load<{ createGeminiChat: CreateChat }>("@tanstack/ai-gemini");
		return tanstack(context, createGeminiChat(model, token, { httpOptions: { baseUrl: base } }));
	},
};
