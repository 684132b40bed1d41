import type { LanguageModel } from "ai";
import { AI_SDK, aiSdk } from "../library/ai-sdk.ts";
import { aiBinding } from "../library/binding.ts";
import { KIMI, type Library } from "../library/client.ts";

type CreateAI = (settings: { binding: object }) => (model: string) => LanguageModel;

export const client: Library = {
	title: "agents, createAI with the binding",
	packages: ["agents", ...AI_SDK, "@ai-sdk/provider"],
	models: [
		KIMI,
		"openai/gpt-5.5",
		"openai/gpt-6-astra",
		"anthropic/claude-opus-5.5",
		"google/gemini-3.8-flash",
	],
	unsupported: {
		abort:
			"Miniflare's proxy of the binding for Node transfers no `AbortSignal` (5.20261117.0-beta, dist/src/index.js:44211, `structuredSerializableReducers`); in a Worker it works (npx vitest run --project binding)",
	},
	async open(context) {
		const { createAI } = await context.load<{ createAI: CreateAI }>("agents/models/ai-sdk");
		const ai = createAI({ binding: await aiBinding(context) });
		return aiSdk(context, ai(context.model), { takesSignal: false });
	},
};
