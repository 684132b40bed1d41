/** Generates one reply: reasoning, then text or a call, truncated at the limits of the request. */
import type { Usage } from "../../core/usage.ts";
import { inputFamily } from "../../models/family.ts";
import { can, type Model } from "../../models/model.ts";
import { promptTokens } from "../../tasks/text-generation/index.ts";
import { type ChatInput, commonEffort, type ToolCall } from "../../tasks/text-generation/types.ts";
import { verdict } from "./guard.ts";
import { jsonFor } from "./json.ts";
import { literalReply, replyTo } from "./reply.ts";
import { countTokens, tokenize } from "./tokens.ts";
import { callFor } from "./tools.ts";
import { lastUserText, type UserText } from "./user-text.ts";

/** A reply in tokens. A stream sends them one by one; joined they are the reply's texts. */
export interface Generated {
	/** Undefined without reasoning. */
	reasoning: string[] | undefined;
	content: string[];
	calls: { id: string; name: string; arguments: string[] }[];
	finish_reason: "stop" | "length" | "tool_calls";
	/** The stop sequence that ended the text. */
	stopSequence?: string;
	tokens: number;
}

interface GenerationContext {
	model: Model;
	uuid(): string;
}

export function generate(input: ChatInput, { model, uuid }: GenerationContext): Generated {
	if (inputFamily(model).isGuard)
		return truncate(input, { reasoning: undefined, content: verdict(input), calls: [] });
	const user = lastUserText(input);
	const call = callFor(input, user);
	return truncate(input, {
		reasoning: thinks(input, model) ? thoughts(input) : undefined,
		content: call ? "" : contentOf(input, user, model.id),
		calls: call
			? [
					{
						// The format of vLLM, which the product shows.
						id: `chatcmpl-tool-${uuid().replaceAll("-", "")}`,
						type: "function",
						function: { name: call.name, arguments: JSON.stringify(call.arguments) },
					},
				]
			: [],
	});
}

function contentOf(input: ChatInput, user: UserText, modelId: string): string {
	const reply = replyTo(input, user, modelId);
	const literal = input.messages.at(-1)?.role === "tool" ? undefined : literalReply(user.text);
	const { type = "text" } = input.response_format ?? {};
	return type === "text" ? (literal ?? reply) : jsonFor(input, reply, literal);
}

/** Whether the model reasons: if it can, unless the request or the default of the model disables it. */
function thinks({ chat_template_kwargs, ...input }: ChatInput, model: Model): boolean {
	const effort = commonEffort(input);
	if (!can(model, "reasoning") || effort === null) return false;
	const setting = chat_template_kwargs?.enable_thinking;
	if (setting === false) return false;
	return setting === true || effort !== undefined || model.reasoningEffort?.default_enabled !== false;
}

function thoughts(input: ChatInput): string {
	const { [commonEffort(input) ?? "medium"]: count } = { minimal: 1, low: 1, medium: 2, high: 3 };
	const sentences = [
		"This is simulated reasoning: no model ran.",
		"The reply quotes the request.",
		"The same input always gives this reply.",
	];
	return sentences.slice(0, count).join(" ");
}

interface Draft {
	reasoning: string | undefined;
	content: string;
	calls: ToolCall[];
}

/** Applies `stop` to the content, and `max_tokens` to reasoning, content and calls together, as engines do. */
function truncate({ stop = [], max_tokens = Number.POSITIVE_INFINITY }: ChatInput, draft: Draft): Generated {
	const [end] = stop
		.map((sequence) => ({ sequence, at: sequence === "" ? -1 : draft.content.indexOf(sequence) }))
		.filter(({ at }) => at >= 0)
		.sort((a, b) => a.at - b.at);
	const content = draft.content.slice(0, end?.at);
	let tokens = 0;
	let isTruncated = false;
	const take = (text: string): string[] => {
		const pieces = tokenize(text);
		const taken = pieces.slice(0, max_tokens - tokens);
		tokens += taken.length;
		isTruncated ||= taken.length < pieces.length;
		return taken;
	};
	const reasoning = draft.reasoning === undefined ? undefined : take(draft.reasoning);
	const kept = take(content);
	const calls: Generated["calls"] = [];
	for (const { id, function: called } of draft.calls) {
		const named = countTokens(called.name);
		isTruncated ||= tokens + named > max_tokens;
		if (isTruncated) break;
		tokens += named;
		calls.push({ id, name: called.name, arguments: take(called.arguments) });
	}
	const finish_reason = isTruncated ? "length" : draft.calls.length > 0 ? "tool_calls" : "stop";
	const stopSequence = finish_reason === "stop" ? end?.sequence : undefined;
	return {
		reasoning,
		content: kept,
		calls,
		finish_reason,
		tokens,
		...(stopSequence !== undefined && { stopSequence }),
	};
}

export function usageOf(input: ChatInput, choices: Generated[]): Usage {
	const prompt_tokens = promptTokens(input);
	const completion_tokens = choices.reduce((sum, { tokens }) => sum + tokens, 0);
	const thought = choices.reduce((sum, { reasoning }) => sum + (reasoning?.length ?? 0), 0);
	const thinking = choices.some(({ reasoning }) => reasoning !== undefined);
	return {
		prompt_tokens,
		completion_tokens,
		total_tokens: prompt_tokens + completion_tokens,
		prompt_tokens_details: { cached_tokens: 0 },
		...(thinking ? { completion_tokens_details: { reasoning_tokens: thought } } : {}),
	};
}
