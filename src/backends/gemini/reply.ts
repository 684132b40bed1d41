/** What `generateContent` answers, whole or one event of a stream, in OpenAI's words. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import { FINISH_REASONS } from "../../models/gemini-wire.ts";
import type { ChatChoice, ChatCompletion, ToolCall } from "../../tasks/text-generation/types.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";

const count = z.int().nonnegative().nullish();

const PartReply = z.looseObject({
	text: z.string().nullish(),
	/** The text is a summary of what was thought. */
	thought: z.boolean().nullish(),
	thoughtSignature: z.string().nullish(),
	functionCall: z
		.looseObject({
			id: z.string().nullish(),
			name: z.string(),
			args: z.record(z.string(), z.unknown()).nullish(),
		})
		.nullish(),
	inlineData: z.looseObject({ mimeType: z.string().nullish(), data: z.string() }).nullish(),
});
type PartReply = z.output<typeof PartReply>;

const TokenReply = z.looseObject({ token: z.string().nullish(), logProbability: z.number().nullish() });
const LogprobsReply = z.looseObject({
	chosenCandidates: z.array(TokenReply).nullish(),
	topCandidates: z.array(z.looseObject({ candidates: z.array(TokenReply).nullish() })).nullish(),
});

const CandidateReply = z.looseObject({
	index: z.int().nonnegative().nullish(),
	content: z.looseObject({ parts: z.array(PartReply).nullish() }).nullish(),
	finishReason: z.string().nullish(),
	logprobsResult: LogprobsReply.nullish(),
});
export type CandidateReply = z.output<typeof CandidateReply>;

const UsageReply = z.looseObject({
	promptTokenCount: count,
	toolUsePromptTokenCount: count,
	candidatesTokenCount: count,
	thoughtsTokenCount: count,
	cachedContentTokenCount: count,
});

export const GenerateEvent = z.looseObject({
	candidates: z.array(CandidateReply).nullish(),
	promptFeedback: z.looseObject({ blockReason: z.string().nullish() }).nullish(),
	usageMetadata: UsageReply.nullish(),
	modelVersion: z.string().nullish(),
	responseId: z.string().nullish(),
});
export type GenerateEvent = z.output<typeof GenerateEvent>;

/** An answer, or the word that there will be none. */
export const GenerateReply = GenerateEvent.refine(
	({ candidates, promptFeedback }) => candidates?.length || promptFeedback?.blockReason,
);

export function completionOf(reply: GenerateEvent, call: Call): ChatCompletion {
	refuseBlocked(reply, call);
	return {
		...headingOf(reply, call),
		object: "chat.completion",
		choices: (reply.candidates ?? []).map((candidate, place) => choiceOf(candidate, place, call)),
		usage: usageOf(reply.usageMetadata),
	};
}

/** The prompt itself was refused: no other answer would come of asking again. */
export function refuseBlocked({ promptFeedback, candidates }: GenerateEvent, { target }: Call): void {
	const reason = promptFeedback?.blockReason;
	if (!reason || candidates?.length) return;
	const { backend } = target;
	throw new AiError("refusedByModel", `The backend '${backend}' blocked the prompt (${reason})`, {
		upstream: { backend, status: 200 },
	});
}

export const headingOf = ({ responseId, modelVersion }: GenerateEvent, { target, world }: Call) => ({
	id: responseId || `chatcmpl-${world.uuid()}`,
	created: Math.floor(world.now() / 1000),
	model: modelVersion || target.model,
});

function choiceOf(candidate: CandidateReply, place: number, call: Call): ChatChoice {
	const { text, thoughts, calls } = saidIn(candidate, call);
	const finish_reason = finishReason(candidate.finishReason || "STOP", calls.length > 0, call);
	const isSilent = calls.length > 0 || finish_reason === "content_filter";
	return {
		index: candidate.index ?? place,
		message: {
			role: "assistant",
			content: text || (isSilent ? null : ""),
			...(thoughts && { reasoning_content: thoughts }),
			...(calls.length > 0 && { tool_calls: calls }),
		},
		logprobs: logprobsOf(candidate),
		finish_reason,
	};
}

interface Said {
	text: string;
	thoughts: string;
	calls: ToolCall[];
}

/** What the parts of one candidate say, in their order. */
export function saidIn({ content }: CandidateReply, call: Call): Said {
	const said: Said = { text: "", thoughts: "", calls: [] };
	for (const part of content?.parts ?? []) {
		if (part.functionCall) said.calls.push(callOf(part.functionCall, part.thoughtSignature, call));
		else if (part.thought) said.thoughts += part.text ?? "";
		else said.text += part.text ?? "";
	}
	return said;
}

const callOf = (
	{ id, name, args }: NonNullable<PartReply["functionCall"]>,
	signature: string | null | undefined,
	{ world }: Call,
): ToolCall => ({
	id: id || `call_${world.uuid()}`,
	type: "function",
	function: { name, arguments: JSON.stringify(args ?? {}) },
	...(signature && { extra_content: { google: { thought_signature: signature } } }),
});

/** The model has failed, and what it said until then is no answer. */
const FAILED = new Set([
	"MALFORMED_FUNCTION_CALL",
	"UNEXPECTED_TOOL_CALL",
	"TOO_MANY_TOOL_CALLS",
	"MISSING_THOUGHT_SIGNATURE",
	"MALFORMED_RESPONSE",
]);

export function finishReason(reason: string, hasCalled: boolean, call: Call): string {
	if (FAILED.has(reason)) throw failureOfContent(call, `gave no answer (${reason})`);
	const known = FINISH_REASONS[reason] ?? "stop";
	return known === "stop" && hasCalled ? "tool_calls" : known;
}

/** Thinking is output, and its tokens are paid for as such. */
export function usageOf(sent: z.output<typeof UsageReply> | null | undefined): Usage | undefined {
	if (sent?.promptTokenCount == null) return undefined;
	const { thoughtsTokenCount: thoughts, cachedContentTokenCount: cached } = sent;
	const prompt_tokens = sent.promptTokenCount + (sent.toolUsePromptTokenCount ?? 0);
	const completion_tokens = (sent.candidatesTokenCount ?? 0) + (thoughts ?? 0);
	return {
		prompt_tokens,
		completion_tokens,
		total_tokens: prompt_tokens + completion_tokens,
		...(cached != null && { prompt_tokens_details: { cached_tokens: cached } }),
		...(thoughts != null && { completion_tokens_details: { reasoning_tokens: thoughts } }),
	};
}

export function logprobsOf({ logprobsResult: sent }: CandidateReply): unknown {
	if (!sent?.chosenCandidates) return null;
	return {
		content: sent.chosenCandidates.map((chosen, place) => ({
			...tokenOf(chosen),
			top_logprobs: sent.topCandidates?.[place]?.candidates?.map(tokenOf) ?? [],
		})),
	};
}

const tokenOf = ({ token, logProbability }: z.output<typeof TokenReply>) => ({
	token: token ?? "",
	logprob: logProbability ?? 0,
	bytes: [...new TextEncoder().encode(token ?? "")],
});
