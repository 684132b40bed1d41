import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type CreateAgent, LANGCHAIN_AGENT, langchainAgent } from "../library/langchain-agent.ts";

export const client: Library = {
	title: "deepagents",
	packages: ["deepagents", ...LANGCHAIN_AGENT],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { createDeepAgent } = await context.load<{ createDeepAgent: CreateAgent }>("deepagents");
		// By default it makes all of its tools strict for OpenAI's models, and OpenAI refuses their schemas (`resolvedStrict`,
		// dist/agents/nodes/AgentNode.js of langchain).
		return langchainAgent(context, createDeepAgent, { structuredBy: "tool" });
	},
};
