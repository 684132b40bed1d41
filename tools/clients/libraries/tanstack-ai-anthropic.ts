import { CLAUDE_MODELS, type Library } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, key: string, config: { baseURL: string }) => object;

export const client: Library = {
	title: "@tanstack/ai-anthropic",
	packages: ["@tanstack/ai-anthropic", "@tanstack/ai", "zod"],
	models: CLAUDE_MODELS,
	async open(context) {
		const { base, load, model, token } = context;
		const { createAnthropicChat } = await load<{ createAnthropicChat: CreateChat }>("@tanstack/ai-anthropic");
		return tanstack(context, createAnthropicChat(model, token, { baseURL: base }));
	},
};
