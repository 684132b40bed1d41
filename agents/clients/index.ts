import type { Client } from "../client.ts";
import type { AgentName } from "../packages.ts";
import { claude } from "./claude.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { continueClient } from "./continue.ts";
import { copilot } from "./copilot.ts";
import { droid } from "./droid.ts";
import { gemini } from "./gemini.ts";
import { kilo } from "./kilo.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwen } from "./qwen.ts";

export const CLIENTS: Readonly<Record<AgentName, Client>> = {
	codex,
	claude,
	opencode,
	qwen,
	continue: continueClient,
	gemini,
	kilo,
	pi,
	copilot,
	cline,
	droid,
};
