import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { openaiAgents } from "../library/openai-agents.ts";

export const client: Library = {
	title: "@openai/agents, chat completions",
	packages: ["@openai/agents", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	open: (context) => openaiAgents(context, "chat completions"),
};
