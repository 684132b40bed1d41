import type { createWorkersAI } from "workers-ai-provider";
import { AI_SDK, aiSdk } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";
import { redirectCloudflare } from "../library/redirect.ts";

export const client: Library = {
	title: "workers-ai-provider, REST",
	packages: ["workers-ai-provider", ...AI_SDK],
	models: [KIMI, "@cf/meta/llama-4-scout-17b-16e-instruct"],
	async open(context) {
		const { account, load, model, origin, token } = context;
		redirectCloudflare(origin);
		const module = await load<{ createWorkersAI: typeof createWorkersAI }>("workers-ai-provider");
		const provider = module.createWorkersAI({
			accountId: account,
			apiKey: token,
		});
		return aiSdk(context, provider(model as Parameters<typeof provider>[0]));
	},
};
