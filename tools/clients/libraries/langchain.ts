import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type CreateAgent, LANGCHAIN_AGENT, langchainAgent } from "../library/langchain-agent.ts";

export const client: Library = {
	title: "langchain, createAgent",
	packages: LANGCHAIN_AGENT,
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { createAgent } = await context.load<{ createAgent: CreateAgent }>("langchain");
		return langchainAgent(context, createAgent);
	},
};
