/** Steps that the scenarios of coding agents share. */
import type { Conversation, Reply, Script, ToolUse } from "../../../test/hosts/script.ts";
import { Failure, type Run, SIDE_TEXT } from "./run.ts";

const SIDE_REPLY: Reply = { kind: "text", pieces: [SIDE_TEXT] };

/** `call`: from 0, among the requests of the conversation. */
export function follow(run: Run, reply: (conversation: Conversation, call: number) => Reply): void {
	let calls = 0;
	const script: Script = (conversation) =>
		run.isMain(conversation) ? reply(conversation, calls++) : SIDE_REPLY;
	run.hosts.follow(script);
}

export function expect(holds: boolean, reason: string): asserts holds {
	if (!holds) throw new Failure(reason);
}

export function expectNoRefusals(run: Run): void {
	const refused = run.answerRequests.filter(({ status = 0 }) => status >= 400);
	expect(refused.length === 0, `${refused.length} refused requests${run.evidence({ output: "" })}`);
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** A call of a tool of the MCP server. */
export interface McpToolUse extends ToolUse {
	/** Matches the agent's name of the tool: agents add the server's name before it. */
	match: RegExp;
}

/** The texts of the tools' results since the user's last prompt. */
export function resultsOf(run: Run, { turns }: Conversation): string[] {
	const prompt = turns.findLastIndex(({ role, text }) => role === "user" && text.includes(run.marker));
	return turns.slice(prompt).flatMap(({ results }) => results.map(({ text }) => text));
}

/** The calls, directly or as the agent's models make them, or the search for tools that are deferred. */
export function callTools(run: Run, conversation: Conversation, calls: readonly McpToolUse[]): Reply {
	const { indirectCall, toolSearch } = run.client;
	const { tools: names } = conversation;
	const direct = calls.flatMap(({ input, match }): ToolUse[] => {
		const name = names.find((one) => match.test(one));
		return name === undefined ? [] : [{ name, input }];
	});
	const canSearch = toolSearch !== undefined && names.includes(toolSearch.name);
	if (canSearch && direct.length === 0 && resultsOf(run, conversation).length === 0)
		return { kind: "tools", calls: [toolSearch] };
	const indirect = calls.flatMap(({ input, name }) => indirectCall?.(name, input) ?? []);
	const hasIndirect = indirect.length > 0 && indirect.every(({ name }) => names.includes(name));
	const chosen = direct.length < calls.length && hasIndirect ? indirect : direct;
	if (chosen.length < calls.length)
		return { kind: "text", pieces: [`No such tools among: ${names.join(", ")}`] };
	return { kind: "tools", calls: chosen };
}
