/**
 * Converts chat completions to responses of `generateContent`. Difference: `usageMetadata.neurons` is the gateway's own
 * field. Thoughts are omitted without `includeThoughts`; `thoughtsTokenCount` always counts them.
 */
import { own } from "../../core/own.ts";
import type { Usage } from "../../core/usage.ts";
import { FINISH_REASONS, type Part } from "../../models/gemini-wire.ts";
import type { AssistantMessage, ChatCompletion, ToolCall } from "../../tasks/text-generation/types.ts";
import { argumentsObject, reasoningOf } from "../chat/chunks.ts";
import { unfinishedAnswer } from "../chat/events.ts";
import { sealOfBlock, sealOfField } from "../chat/sealed.ts";
import type { WriteContext } from "../dialect.ts";
import { grounding } from "./grounding.ts";
import { type GeminiRequest, showsThoughts } from "./request.ts";

const GOOGLE_REASONS: Readonly<Record<string, string>> = {
	...Object.fromEntries(
		Object.entries(FINISH_REASONS)
			.reverse()
			.map(([google, chat]) => [chat, google]),
	),
	model_length: "MAX_TOKENS",
	tool_calls: "STOP",
};
export const googleReason = (reason: string): string => own(GOOGLE_REASONS, reason) ?? "STOP";

export const EMPTY: Part = { text: "" };

export const candidate = (index: number, parts: Part[], finishReason?: string): object => ({
	content: { parts, role: "model" },
	...(finishReason !== undefined && { finishReason }),
	index,
});

export function callPart({ id, function: called }: ToolCall, signature: string): Part {
	return {
		functionCall: { id, name: called.name, args: argumentsObject(called.arguments) },
		...(signature && { thoughtSignature: signature }),
	};
}

/**
 * The calls, each with the seal of the reasoning before it. The first one also has the seals of all other reasoning, because
 * clients send back the signatures of calls and texts, and not always those of thoughts.
 */
export function callParts(calls: readonly ToolCall[], others: string): Part[] {
	return calls.map((call, index) => {
		const own = sealOfField(call.extra_content);
		const first = calls.map(({ extra_content }) => sealOfField(extra_content)).join("");
		const added = index === 0 && !first.includes(others) ? others : "";
		return callPart(call, added + own);
	});
}

export function usageMetadata(usage: Usage | null | undefined, { withCost }: WriteContext): object {
	if (!usage) return {};
	const thoughts = usage.completion_tokens_details?.reasoning_tokens ?? 0;
	const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
	const { neurons } = withCost(usage);
	return {
		usageMetadata: {
			promptTokenCount: usage.prompt_tokens,
			candidatesTokenCount: Math.max(0, usage.completion_tokens - thoughts),
			totalTokenCount: usage.prompt_tokens + usage.completion_tokens,
			...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
			...(cached > 0 && { cachedContentTokenCount: cached }),
			...(neurons !== undefined && { neurons }),
		},
	};
}

export const heading = (id: string, { model, uuid }: WriteContext): object => ({
	modelVersion: model.id,
	responseId: id || uuid(),
});

export function responseOf(completion: ChatCompletion, context: WriteContext): object {
	const shows = showsThoughts(context.inputs as GeminiRequest);
	return {
		candidates: completion.choices.map(({ index, message, finish_reason }) => {
			if (finish_reason === "error") throw unfinishedAnswer();
			const parts = partsOf(message, shows);
			const searches = (message.searched ?? []).flatMap((round) => round.searches);
			return {
				...candidate(index, parts.length > 0 ? parts : [EMPTY], googleReason(finish_reason)),
				...grounding(textOfParts(parts), searches, message.annotations),
			};
		}),
		...usageMetadata(completion.usage, context),
		...heading(completion.id, context),
	};
}

const textOfParts = (parts: readonly Part[]): string =>
	parts.map(({ text, thought }) => (thought ? "" : (text ?? ""))).join("");

function partsOf(message: AssistantMessage, shows: boolean): Part[] {
	const thoughts = shows ? reasoningOf(message) : "";
	const text = [message.content, message.refusal].filter(Boolean).join("\n");
	const searched = (message.searched ?? []).flatMap(({ reasoning, content }): Part[] => [
		...(shows && reasoning ? [{ text: reasoning, thought: true }] : []),
		...(content ? [{ text: content }] : []),
	]);
	const calls = message.tool_calls ?? [];
	const sealed =
		(message.thinking_blocks ?? []).map(sealOfBlock).join("") + sealOfField(message.extra_content);
	return [
		...searched,
		...(thoughts ? [{ text: thoughts, thought: true }] : []),
		...(text ? [{ text, ...(sealed && calls.length === 0 && { thoughtSignature: sealed }) }] : []),
		...callParts(calls, sealed),
	];
}
