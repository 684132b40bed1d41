import { KIMI, type Library } from "../library/client.ts";
import { redirectCloudflare } from "../library/redirect.ts";
import { tanstack } from "../library/tanstack.ts";

type CreateChat = (model: string, config: { accountId: string; apiKey: string }) => object;

export const client: Library = {
	title: "@cloudflare/tanstack-ai",
	packages: ["@cloudflare/tanstack-ai", "@tanstack/ai", "zod"],
	models: [KIMI, "@cf/meta/llama-4-scout-17b-16e-instruct"],
	async open(context) {
		const { account, load, model, origin, token } = context;
		redirectCloudflare(origin);
		const { createWorkersAiChat } = await load<{ createWorkersAiChat: CreateChat }>(
			"@cloudflare/tanstack-ai",
		);
		return tanstack(context, createWorkersAiChat(model, { accountId: account, apiKey: token }));
	},
};
