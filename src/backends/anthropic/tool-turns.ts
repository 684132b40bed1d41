/**
 * What the API requires of the turns with calls and results of tools: the results of all calls of a turn begin the next one, and a
 * conversation with calls has tools. https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 */
import { type ConversationPart, NO_RESULT, ORPHAN_HEADING, pairParts } from "../tool-results.ts";
import type { AnthropicBlock } from "./thoughts.ts";
import type { AnthropicTool, Offer } from "./tools.ts";

interface BlockTurn<Role extends string> {
	role: Role;
	content: AnthropicBlock[];
	/** Other fields of a message, such as the `output_config` of a system message. */
	fields?: Readonly<Record<string, unknown>>;
}

const isCall = ({ type }: AnthropicBlock): boolean => type === "tool_use";
export const isResult = ({ type }: AnthropicBlock): boolean => type === "tool_result";

/** Turns in the right order are not changed. */
export function pairTurns<Role extends string>(turns: BlockTurn<Role>[]): BlockTurn<Role>[] {
	const paired = pairParts(joinedTurns(turns).flatMap(partsOf), {
		missing: (tool_use_id) =>
			userTurn({ type: "tool_result", tool_use_id, content: NO_RESULT, is_error: true }),
		orphan: ({ content: [block] }) => userTurn(...textOf(block)),
	});
	return paired ? joinedTurns(paired) : turns;
}

/** Consecutive turns of one role are one, as the API reads them. */
export function joinedTurns<Role extends string>(turns: readonly BlockTurn<Role>[]): BlockTurn<Role>[] {
	const list: BlockTurn<Role>[] = [];
	for (const { role, content, fields } of turns) {
		const last = list.at(-1);
		if (last?.role === role && !last.fields && !fields) last.content.push(...content);
		else list.push({ role, content: [...content], ...(fields && { fields }) });
	}
	return list;
}

function partsOf<Role extends string>(turn: BlockTurn<Role>): ConversationPart<BlockTurn<Role>>[] {
	const { role, content, fields } = turn;
	if (fields) return [{ value: turn }];
	if (role === "assistant")
		return [{ value: { role, content }, calls: content.filter(isCall).map(({ id }) => String(id)) }];
	return content.map((block) => ({
		value: { role, content: [block] },
		...(isResult(block) && { result: String(block.tool_use_id) }),
	}));
}

// The role of results is that of users, in every list of turns.
const userTurn = <Role extends string>(...content: AnthropicBlock[]): BlockTurn<Role> => ({
	role: "user" as Role,
	content,
});

function textOf(result: AnthropicBlock | undefined): AnthropicBlock[] {
	const heading = { type: "text", text: ORPHAN_HEADING };
	const content: unknown = result?.content;
	if (typeof content === "string") return [{ ...heading, text: `${ORPHAN_HEADING}\n${content}` }];
	return [heading, ...(Array.isArray(content) ? (content as AnthropicBlock[]) : [])];
}

/** The tools of a conversation with calls, if the request offers none. They are not called. */
export function calledTools(turns: readonly Pick<BlockTurn<string>, "content">[]): Offer | undefined {
	const names = turns.flatMap(({ content }) => content.filter(isCall).map(({ name }) => String(name)));
	if (names.length === 0) return undefined;
	const tools = [...new Set(names)].map(
		(name): AnthropicTool => ({ name, input_schema: { type: "object", properties: {} } }),
	);
	return { tools, choice: { type: "none" } };
}
