/**
 * A Messages request of a caller who speaks this API himself: what he said that the hub has no word for (breakpoints of the
 * cache, citations, tools that Anthropic runs) is sent as he said it.
 *
 * Of a model of Anthropic's own that is all of it. Of another model, which a route has sent here, he cannot know what
 * Claude takes: sampling, thinking, the form of the answer and the tools are the hub's.
 */
import type { ChatInput, Verbatim } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import type { Block } from "./content.ts";
import type { AnthropicTool } from "./tools.ts";
import {
	type Conversation,
	isSigned,
	isThought,
	readConversation,
	type Turn,
	toolId,
	withoutTrailingSpace,
} from "./turns.ts";

/** The whole body, but for what is not the caller's to choose. */
export function verbatimBody(input: ChatInput, verbatim: Verbatim, call: Call): Record<string, unknown> {
	// Betas are a header of the API's, which some clients have in the body: the operator says which there are.
	const { messages: _messages, betas: _betas, thinking, ...body } = verbatim.body;
	const sent = Number(body.max_tokens);
	const max_tokens = Math.min(sent, input.max_tokens ?? sent);
	const begun = added(input, verbatim, call);
	// With less room than was asked for, or an answer that has begun, the API takes no budget of thoughts.
	const mayThink = begun.length === 0 && max_tokens === sent;
	const told = { ...body, ...(mayThink && { thinking }) };
	return {
		...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null && value !== undefined)),
		model: call.target.model,
		max_tokens,
		messages: [...turnsOf(verbatim), ...begun],
		stream: input.stream,
	};
}

/** The conversation, where the rest of the body is the hub's. */
export function verbatimConversation(input: ChatInput, verbatim: Verbatim, call: Call): Conversation {
	const turns = turnsOf(verbatim);
	const instructions = turns.flatMap(({ role, content }) => (role === "system" ? content : []));
	const system = [...blocksOf(verbatim.body.system), ...instructions];
	const said = turns.flatMap(({ role, content }) => (role === "system" ? [] : [{ role, content }]));
	const begun = added(input, verbatim, call);
	return {
		system: system.length > 0 ? system : undefined,
		messages: begun.length > 0 ? [...said, ...begun] : withoutTrailingSpace(said),
	};
}

/** What says nothing of how to answer. */
export function verbatimExtras({ body }: Verbatim): Record<string, unknown> {
	const { cache_control, metadata, service_tier } = body;
	return {
		...(cache_control != null && { cache_control }),
		...(metadata != null && { metadata }),
		...(service_tier != null && { service_tier }),
	};
}

/** The hub's tools, with the breakpoints of those that the caller sent by the same names. */
export function withBreakpoints(tools: AnthropicTool[], { body }: Verbatim): AnthropicTool[] {
	const sent = Array.isArray(body.tools) ? (body.tools as Record<string, unknown>[]) : [];
	return tools.map((tool) => {
		const cache_control = sent.find(({ name }) => name === tool.name)?.cache_control;
		return cache_control == null ? tool : { ...tool, cache_control };
	});
}

/** As the dialect's schema has them. */
interface SentTurn {
	role: Turn["role"] | "system";
	content: Block[];
}

/** Without what other models have left in it, and the API would refuse: unsigned thoughts, ids of their own form. */
function turnsOf({ body }: Verbatim): SentTurn[] {
	const sent = body.messages as { role: SentTurn["role"]; content: unknown }[];
	return sent
		.map(({ role, content }) => ({
			role,
			content: blocksOf(content)
				.filter((block) => !isThought(block) || isSigned(block))
				.map(withKnownId),
		}))
		.filter(({ content }) => content.length > 0);
}

function withKnownId(block: Block): Block {
	if (block.type === "tool_use") return { ...block, id: toolId(String(block.id)) };
	if (block.type === "tool_result") return { ...block, tool_use_id: toolId(String(block.tool_use_id)) };
	return block;
}

/** The API refuses a text of nothing but white space. */
function blocksOf(content: unknown): Block[] {
	const blocks = Array.isArray(content) ? (content as Block[]) : [{ type: "text", text: content ?? "" }];
	return blocks.filter(({ type, text }) => type !== "text" || String(text).trim() !== "");
}

/** What was added to the conversation here: the beginning of an answer, for this target to go on from. */
const added = ({ messages }: ChatInput, verbatim: Verbatim, call: Call): Turn[] =>
	readConversation(messages.slice(verbatim.messages), call).messages;
