/**
 * Requests of callers who use the Messages API themselves. Features without a field in the common chat format (cache
 * breakpoints, citations, server tools) are sent unchanged.
 *
 * By default that is the complete body. For a model of Workers AI, which a route sends here, the caller does not choose for Claude:
 * sampling, thinking, answer format and tools come from the common chat format.
 */
import { isRecord } from "../../core/json.ts";
import type { ChatInput, Verbatim } from "../../tasks/text-generation/types.ts";
import type { Seals } from "../seals.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { type AnthropicBlock, isThought, thoughtsIn } from "./thoughts.ts";
import { calledTools, pairTurns } from "./tool-turns.ts";
import type { Offer } from "./tools.ts";
import {
	type Conversation,
	lacksThoughts,
	readConversation,
	type Turn,
	toolId,
	withoutTrailingSpace,
} from "./turns.ts";

interface VerbatimContext {
	call: Call;
	seals: Seals | undefined;
}

/** The complete body, except for the fields that the gateway sets. */
export function verbatimBody(
	input: ChatInput,
	verbatim: Verbatim,
	{ call, seals }: VerbatimContext,
): Record<string, unknown> {
	// They are a header of the API.
	const { messages: _messages, betas: _betas, thinking, ...body } = verbatim.body;
	const sent = Number(body.max_tokens);
	const max_tokens = Math.min(sent, input.max_tokens ?? sent);
	const prefill = addedTurns(input, verbatim, { call, seals });
	const turns = turnsOf(verbatim, { call, seals });
	// With a smaller limit or a prefill, the thinking budget may be invalid.
	const isContinued = prefill.length === 0 && max_tokens === sent;
	// With a budget, the API requires the thinking before the calls whose results are last.
	const needsThoughts =
		isRecord(thinking) && thinking.type === "enabled" && lacksThoughts({ messages: turns });
	const mayThink = isContinued && !needsThoughts;
	const offersTools =
		(Array.isArray(body.tools) && body.tools.length > 0) ||
		turns.some(({ content }) => content.some(({ type }) => type === "tool_addition"));
	const tools = offersTools ? undefined : calledTools(turns);
	const fields = {
		...body,
		...(mayThink && { thinking }),
		...(tools && { tools: tools.tools, tool_choice: tools.choice }),
	};
	return {
		...Object.fromEntries(
			Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
		),
		model: call.target.model,
		max_tokens,
		messages: [...turns.map(({ fields: other, ...turn }) => ({ ...turn, ...other })), ...prefill],
		stream: input.stream,
	};
}

const BETA = /^[\w.-]{1,128}$/;

/** The betas of the request's body. The route of Messages adds those of the caller's header (`anthropic-beta`). */
export const betasOf = ({ body: { betas } }: Verbatim): string[] =>
	Array.isArray(betas) ? betas.filter((beta) => typeof beta === "string" && BETA.test(beta)) : [];

/** The conversation, if the other fields come from the common chat format. */
export function verbatimConversation(
	input: ChatInput,
	verbatim: Verbatim,
	context: VerbatimContext,
): Conversation {
	const turns = turnsOf(verbatim, context);
	const instructions = turns.flatMap(({ role, content }) =>
		role === "system" ? content.filter(({ type }) => type === "text") : [],
	);
	const system = [...blocksOf(verbatim.body.system), ...instructions];
	const messages = turns.flatMap(({ role, content }) => (role === "system" ? [] : [{ role, content }]));
	const prefill = addedTurns(input, verbatim, context);
	return {
		system: system.length > 0 ? system : undefined,
		messages: prefill.length > 0 ? [...messages, ...prefill] : withoutTrailingSpace(messages),
	};
}

/** Fields without an effect on the answer. */
export function verbatimExtras({ body }: Verbatim): Record<string, unknown> {
	const { cache_control, metadata, service_tier } = body;
	return {
		...(cache_control != null && { cache_control }),
		...(metadata != null && { metadata }),
		...(service_tier != null && { service_tier }),
	};
}

/** Adds the cache breakpoints of the caller's tools with the same names. */
export function withBreakpoints(tools: Offer["tools"], { body }: Verbatim): Offer["tools"] {
	const sent = Array.isArray(body.tools) ? (body.tools as Record<string, unknown>[]) : [];
	return tools.map((tool) => {
		const cache_control = sent.find(({ name }) => name === tool.name)?.cache_control;
		return cache_control == null ? tool : { ...tool, cache_control };
	});
}

/** The format of the dialect's schema. */
interface SentTurn {
	role: Turn["role"] | "system";
	content: AnthropicBlock[];
	/** Those of a system message. */
	fields?: Readonly<Record<string, unknown>>;
}

/** Opens the seals of thinking blocks. Removes what the API refuses: thinking of other models, and characters of their ids. */
function turnsOf({ body }: Verbatim, context: VerbatimContext): SentTurn[] {
	const sent = body.messages as { role: SentTurn["role"]; content: unknown }[];
	const turns = sent
		.map(({ role, content, ...fields }) => ({
			role,
			content: blocksOf(content)
				.flatMap((block) => (isThought(block) ? openThought(block, context) : [block]))
				.map(withValidId),
			...(Object.keys(fields).length > 0 && { fields }),
		}))
		.filter(({ content, fields }) => content.length > 0 || fields !== undefined);
	return pairTurns(turns);
}

function openThought(
	{ signature, data, cache_control }: AnthropicBlock,
	{ call, seals }: VerbatimContext,
): AnthropicBlock[] {
	const sealed = signature || data;
	if (typeof sealed !== "string" || !sealed) return [];
	const blocks = thoughtsIn(seals?.open(sealed) ?? [], call);
	return cache_control === undefined ? blocks : blocks.map((block) => ({ ...block, cache_control }));
}

function withValidId(block: AnthropicBlock): AnthropicBlock {
	if (block.type === "tool_use") return { ...block, id: toolId(String(block.id)) };
	if (block.type === "tool_result") return { ...block, tool_use_id: toolId(String(block.tool_use_id)) };
	return block;
}

/** The API refuses blank texts. */
function blocksOf(content: unknown): AnthropicBlock[] {
	const blocks = Array.isArray(content)
		? (content as AnthropicBlock[])
		: [{ type: "text", text: content ?? "" }];
	return blocks.filter(({ type, text }) => type !== "text" || String(text).trim() !== "");
}

/** The turns that the gateway has added: the beginning of an answer, which this target continues. */
const addedTurns = ({ messages }: ChatInput, verbatim: Verbatim, { call, seals }: VerbatimContext): Turn[] =>
	readConversation(messages.slice(verbatim.messages), call, seals).messages;
