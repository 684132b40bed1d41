import { anthropic } from "./anthropic/index.ts";
import type { Backend, BackendKind } from "./backend.ts";
import { cog } from "./cog/index.ts";
import { gemini } from "./gemini/index.ts";
import { ollama } from "./ollama/index.ts";
import { openai } from "./openai/index.ts";
import { simulator } from "./simulator/index.ts";
import { tei } from "./tei/index.ts";
import { workersAi } from "./workers-ai/index.ts";

export const BACKENDS: Record<BackendKind, Backend> = {
	simulator,
	openai,
	anthropic,
	gemini,
	tei,
	ollama,
	"workers-ai": workersAi,
	cog,
};
