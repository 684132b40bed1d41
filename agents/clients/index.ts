import type { Client } from "../client.ts";
import type { AgentName } from "../packages.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { continueClient } from "./continue.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { qwen } from "./qwen.ts";

export const CLIENTS: Readonly<Record<AgentName, Client>> = {
	codex,
	claude,
	opencode,
	qwen,
	continue: continueClient,
	gemini,
};
