import type Anthropic from "@anthropic-ai/sdk";
import { CLAUDE_MODELS, KIMI, type Library } from "../library/client.ts";
import { messages } from "../library/messages-sdk.ts";

type Constructor = new (options: { baseURL: string; apiKey: string }) => Pick<Anthropic, "messages">;

export const client: Library = {
	title: "@anthropic-ai/foundry-sdk",
	packages: ["@anthropic-ai/foundry-sdk"],
	models: [...CLAUDE_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { AnthropicFoundry: Client } = await load<{ AnthropicFoundry: Constructor }>(
			"@anthropic-ai/foundry-sdk",
		);
		return messages(new Client({ baseURL: base, apiKey: token }), model);
	},
};
