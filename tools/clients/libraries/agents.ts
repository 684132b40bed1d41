import type { LanguageModel } from "ai";
import { AI_SDK, aiSdk } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";
import { redirectCloudflare } from "../library/redirect.ts";

type CreateAI = (settings: { accountId: string; apiToken: string }) => (model: string) => LanguageModel;

export const client: Library = {
	title: "agents, createAI with a token",
	packages: ["agents", ...AI_SDK, "@ai-sdk/provider"],
	models: [
		KIMI,
		"openai/gpt-5.5",
		"openai/gpt-6-astra",
		"anthropic/claude-opus-5.5",
		"google/gemini-3.8-flash",
	],
	async open(context) {
		const { account, load, model, origin, token } = context;
		redirectCloudflare(origin);
		const { createAI } = await load<{ createAI: CreateAI }>("agents/models/ai-sdk");
		return aiSdk(context, createAI({ accountId: account, apiToken: token })(model));
	},
};
