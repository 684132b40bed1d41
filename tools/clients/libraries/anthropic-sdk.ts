import type Anthropic from "@anthropic-ai/sdk";
import { CLAUDE_MODELS, KIMI, type Library } from "../library/client.ts";
import { messages } from "../library/messages-sdk.ts";

export const client: Library = {
	title: "@anthropic-ai/sdk",
	packages: ["@anthropic-ai/sdk"],
	models: [...CLAUDE_MODELS, KIMI, "gpt-6.1-sol"],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: typeof Anthropic }>("@anthropic-ai/sdk");
		return messages(new Client({ baseURL: base, apiKey: token }), model);
	},
};
