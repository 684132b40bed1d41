import { KIMI, type Library } from "../library/client.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateText = (model: string, key: string, config: { baseURL: string }) => object;

export const client: Library = {
	title: "@tanstack/ai-grok",
	packages: ["@tanstack/ai-grok", "@tanstack/ai", "zod"],
	models: [KIMI, "grok-4.6"],
	async open(context) {
		const { base, load, model, token } = context;
		const { createGrokText } = await load<{ createGrokText: CreateText }>("@tanstack/ai-grok");
		return tanstack(context, createGrokText(model, token, { baseURL: `${base}/v1` }));
	},
};
