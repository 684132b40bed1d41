/** How a coding agent is configured and started. `../agents/` has one file for each. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ToolUse } from "../../../test/hosts/script.ts";

export const SCENARIO_NAMES = [
	"turn",
	"tools",
	"edit",
	"search",
	"resume",
	"session",
	"compact",
	"interrupt",
	"overflow",
	"shorten",
	"limit",
] as const;
export type ScenarioName = (typeof SCENARIO_NAMES)[number];

export interface Context {
	/** The account's address up to `/ai`, without a trailing slash. */
	base: string;
	/** A token of the account. */
	token: string;
	model: string;
	/** Empty folders of this run. */
	home: string;
	folder: string;
	/** Starts the MCP server. */
	mcp: readonly [command: string, ...args: string[]];
}

export interface Command {
	args: string[];
	env?: Record<string, string>;
}

/** One file of `../agents/`. */
export interface CodingAgent {
	/** What the tables and the fixtures call it. */
	title: string;
	/** Its package on npm. */
	package: string;
	/** Its version, if the newest cannot be installed. */
	version?: string;
	/** Its command, in `node_modules/.bin`. */
	bin: string;
	/** Its install script installs the program for this platform. */
	installScript: boolean;
	/** Names that its users type. Each scenario runs with each of them. */
	models: readonly string[];
	/** Matches the paths of its requests for answers. */
	path: RegExp;
	/** Writes its configuration files. */
	configure?(context: Context): void;
	/** `resume`: continues the session of the previous run. */
	command(prompt: string, context: Context, resume: boolean): Command;
	/** A built-in tool that searches deferred tools, with arguments that find the tools of the MCP server. */
	toolSearch?: ToolUse;
	/** The call of a built-in tool that calls a found tool. Absent: the agent then sends the found tool itself. */
	indirectCall?(tool: string, input: object): ToolUse;
	/** The call of the built-in tool that writes a file of the project. `tools`: the names that the model has. */
	edit?(path: string, content: string, tools: readonly string[]): ToolUse;
	/** The call of the built-in tool that searches the web, if it has one of the `tools`. Absent: the model's provider searches. */
	search?(query: string, tools: readonly string[]): ToolUse | undefined;
	/** How it compacts a conversation: by a prompt, or by itself after a change of its configuration. */
	compaction?: {
		prompt?: string;
		configure?(context: Context): void;
		/** The reported tokens of the first request, after which it compacts, and of the request for a summary after a prompt. */
		inputTokens?: number;
	};
	/** Its output when the context is full. "compaction": none, it requests a summary and retries. */
	overflow: RegExp | "compaction";
	/** Scenarios that it cannot do, with the reason. */
	unsupported?: Partial<Record<ScenarioName, string>>;
}

export const MCP_SERVER = "tiny";

export function writeFile(folder: string, path: string, content: string | object): void {
	const file = join(folder, path);
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}

/** A new file as a patch in the format of OpenAI's models. */
export const patchOf = (path: string, content: string): string =>
	`*** Begin Patch\n*** Add File: ${path}\n${content.replace(/^/gm, "+")}\n*** End Patch`;

/** The reason of agents without the scenario `shorten`. */
export const KEEPS_LIMIT = "it keeps its output limit";

/** The reason of agents without the scenario `search`. */
export const NO_SEARCH = "none of its tools searches the web";
