/** How an agent is configured and started. `clients/` has one file for each. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type ScenarioName = "turn" | "tools" | "resume" | "interrupt" | "overflow" | "shorten" | "limit";

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

export interface Client {
	/** Matches the paths of its requests for answers. */
	path: RegExp;
	/** Writes its configuration files. */
	configure?(context: Context): void;
	/** `resume`: continues the session of the previous run. */
	command(prompt: string, context: Context, resume: boolean): Command;
	/** A built-in tool that searches deferred tools, with arguments that find the tools of the MCP server. */
	toolSearch?: { name: string; arguments: object };
	/** The call of a built-in tool that calls a found tool. Absent: the agent then sends the found tool itself. */
	indirectCall?(tool: string, input: object): { name: string; arguments: object };
	/** Its output when the context is full. "compaction": none, it requests a summary and retries. */
	overflow: RegExp | "compaction";
	/** Requests fewer output tokens if the input and the output together exceed the context. */
	shortens?: true;
	/** Scenarios that it cannot do, with the reason. */
	unsupported?: Partial<Record<ScenarioName, string>>;
}

export const MCP_SERVER = "tiny";

export function writeFile(folder: string, path: string, content: string | object): void {
	const file = join(folder, path);
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}
