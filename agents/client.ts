/** How an agent is configured and started. A file in `clients/` for each. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ScenarioName } from "./scenarios.ts";

export interface Context {
	/** The account's address up to `/ai`, without a slash at its end. */
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

export interface Client {
	/** Which of the gateway's APIs it speaks: the path of its requests for answers ends with this. */
	path: RegExp;
	/** Writes its configuration files. */
	configure?(context: Context): void;
	/** `resume`: the session of the run before. */
	command(prompt: string, context: Context, resume: boolean): Command;
	/** A built-in tool that finds tools which the agent does not send at first, with arguments that find those of the MCP server. */
	toolSearch?: { name: string; arguments: object };
	/** The call of a built-in tool which calls a tool that was found; absent: the agent then sends the tool itself. */
	indirectCall?(tool: string, input: object): { name: string; arguments: object };
	/** What it prints when the context is full. "compaction": nothing, it asks for a summary and tries again. */
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
