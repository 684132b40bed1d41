/** Converts replies of `generateContent`, and events of its streams, to OpenAI's format. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import type { Usage } from "../../core/usage.ts";
import { geminiUsage, SentCounts } from "../../core/usage-formats.ts";
import { FINISH_REASONS } from "../../models/gemini-wire.ts";
import type {
	AssistantMessage,
	ChatChoice,
	ChatCompletion,
	EngineSearch,
	SignatureField,
	ToolCall,
} from "../../tasks/text-generation/types.ts";
import { type Heading, headingOf } from "../completion.ts";
import { searchedField } from "../engine-search.ts";
import { sealSignature } from "../gemini-signatures.ts";
import { readToolCalls, type ToolCallContext } from "../openai/reply/sent-calls.ts";
import { type KnownFields, type OutputState, refuseUnread, stateOf, stateOfAll } from "../output-state.ts";
import type { Seals } from "../seals.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { usualEvent } from "./forms.ts";
import { groundsOf, readGrounding } from "./grounding.ts";

const PartReply = z.looseObject({
	text: z.string().nullish(),
	/** The text is a summary of thoughts. */
	thought: z.boolean().nullish(),
	thoughtSignature: z.string().nullish(),
	functionCall: z
		.looseObject({
			id: z.string().nullish(),
			name: z.string(),
			/** An object. Servers with Gemini's API may send JSON text. */
			args: z.unknown().optional(),
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
	groundingMetadata: z.unknown().optional(),
	logprobsResult: LogprobsReply.nullish(),
});
export type CandidateReply = z.output<typeof CandidateReply>;

export const GenerateEvent = z.preprocess(
	usualEvent,
	z.looseObject({
		candidates: z.array(CandidateReply).nullish(),
		promptFeedback: z.looseObject({ blockReason: z.string().nullish() }).nullish(),
		usageMetadata: SentCounts,
		modelVersion: z.string().nullish(),
		responseId: z.string().nullish(),
	}),
);
export type GenerateEvent = z.output<typeof GenerateEvent>;

/** An answer, or the reason why the prompt was blocked. */
export const GenerateReply = GenerateEvent.refine(
	({ candidates, promptFeedback }) => candidates?.length || promptFeedback?.blockReason,
);

/** What a reply needs of its request. */
export interface GeminiReplyForm {
	call: Call;
	seals: Seals | undefined;
	context: ToolCallContext;
	search: EngineSearch | undefined;
}

export function completionOf(reply: GenerateEvent, form: GeminiReplyForm): ChatCompletion {
	const { call } = form;
	refuseBlocked(reply, call);
	return {
		...headingIn(reply, call),
		object: "chat.completion",
		choices: (reply.candidates ?? []).map((candidate, index) => choiceOf(candidate, index, form)),
		usage: usageIn(reply),
	};
}

/** The prompt was blocked: a retry would fail, too. */
export function refuseBlocked({ promptFeedback, candidates }: GenerateEvent, { target }: Call): void {
	const reason = promptFeedback?.blockReason;
	if (!reason || candidates?.length) return;
	const { backend } = target;
	throw new AiError("refusedByModel", `The backend '${backend}' blocked the prompt (${reason})`, {
		upstream: { backend, status: 200 },
	});
}

export const headingIn = ({ responseId, modelVersion }: GenerateEvent, call: Call): Heading =>
	headingOf(call, { id: responseId, model: modelVersion });

function choiceOf(candidate: CandidateReply, index: number, form: GeminiReplyForm): ChatChoice {
	const { text, thoughts, calls, ...signed } = partsOf(candidate, form, 0);
	const finish_reason = finishReason(candidate.finishReason || "STOP", calls.length > 0, form.call);
	const reason = candidate.finishReason ? finish_reason : undefined;
	refuseUnread(form.call, { output: outputOf(candidate), reason, sent: candidate });
	const isSilent = calls.length > 0 || finish_reason === "content_filter";
	return {
		index: candidate.index ?? index,
		message: {
			role: "assistant",
			content: text || (isSilent ? null : ""),
			...(thoughts && { reasoning_content: thoughts }),
			...signed,
			...groundingFields(candidate, text, form),
			...(calls.length > 0 && { tool_calls: calls }),
		},
		logprobs: logprobsOf(candidate),
		finish_reason,
	};
}

function groundingFields(
	{ groundingMetadata }: CandidateReply,
	text: string,
	{ search, call }: GeminiReplyForm,
): Partial<AssistantMessage> {
	const grounding = readGrounding(groundingMetadata);
	if (!grounding) return {};
	const { annotations, searches } = groundsOf(grounding, { text, search, uuid: call.services.uuid });
	return {
		...(annotations.length > 0 && { annotations }),
		...searchedField(searches),
	};
}

interface CandidateParts {
	text: string;
	thoughts: string;
	calls: ToolCall[];
	/** The seal of the text's signature. */
	extra_content?: SignatureField;
}

/**
 * The texts, thoughts and tool calls of a candidate.
 *
 * @param firstCall the number of calls in earlier events.
 */
export function partsOf(
	{ content }: CandidateReply,
	{ seals, context }: GeminiReplyForm,
	firstCall: number,
): CandidateParts {
	const parts: CandidateParts = { text: "", thoughts: "", calls: [] };
	for (const { functionCall, thoughtSignature, thought, text } of content?.parts ?? []) {
		const place = functionCall ? firstCall + parts.calls.length : "text";
		const signature = thoughtSignature && !thought ? sealedField(thoughtSignature, place, seals) : {};
		if (functionCall)
			for (const called of readToolCalls([callIn(functionCall)], context))
				parts.calls.push({ ...called, ...signature });
		else if (thought) parts.thoughts += text ?? "";
		else {
			parts.text += text ?? "";
			Object.assign(parts, signature);
		}
	}
	return parts;
}

/** The fields of Google's parts. Those that are not read are parts of an answer, too. */
const PART: KnownFields = {
	output: new Set([
		...["text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData", "fileData"],
		...["executableCode", "codeExecutionResult", "toolCall", "toolResponse"],
	]),
	other: new Set(),
};
const CONTENT: KnownFields = { output: new Set(), other: new Set(["role"]) };
const CANDIDATE: KnownFields = { output: new Set(), other: new Set(["finishReason", "finishMessage"]) };

/** What a candidate has, of a complete reply or of one event. The API omits what is empty. */
export function outputOf(candidate: CandidateReply): OutputState {
	const { content } = candidate;
	const { parts, ...fields } = content ?? {};
	return stateOfAll([
		...(parts ?? []).map((part) => stateOf(part, PART)),
		stateOf(fields, CONTENT),
		stateOf(candidate, CANDIDATE),
	]);
}

/** The text of a candidate without its thoughts and calls. */
export const writtenText = ({ content }: CandidateReply): string =>
	(content?.parts ?? [])
		.map(({ functionCall, thought, text }) => (functionCall || thought ? "" : (text ?? "")))
		.join("");

function sealedField(
	signature: string,
	place: number | "text",
	seals: Seals | undefined,
): { extra_content?: SignatureField } {
	const seal = sealSignature({ place, signature }, seals);
	return seal === undefined ? {} : { extra_content: { google: { thought_signature: seal } } };
}

const callIn = ({ id, name, args }: NonNullable<PartReply["functionCall"]>) => ({
	id,
	function: { name, arguments: args },
});

/** The model has failed: its output is no answer. */
const FAILED = new Set([
	"MALFORMED_FUNCTION_CALL",
	"UNEXPECTED_TOOL_CALL",
	"TOO_MANY_TOOL_CALLS",
	"MISSING_THOUGHT_SIGNATURE",
	"MALFORMED_RESPONSE",
]);

export function finishReason(reason: string, hasCalled: boolean, call: Call): string {
	if (FAILED.has(reason)) throw failureOfContent(call, `gave no answer (${reason})`);
	const mapped = own(FINISH_REASONS, reason) ?? "stop";
	return mapped === "stop" && hasCalled ? "tool_calls" : mapped;
}

export const usageIn = ({ usageMetadata }: GenerateEvent): Usage | undefined =>
	usageMetadata ? geminiUsage(usageMetadata) : undefined;

export function logprobsOf({ logprobsResult: sent }: CandidateReply): unknown {
	if (!sent?.chosenCandidates) return null;
	return {
		content: sent.chosenCandidates.map((chosen, index) => ({
			...tokenOf(chosen),
			top_logprobs: sent.topCandidates?.[index]?.candidates?.map(tokenOf) ?? [],
		})),
	};
}

function tokenOf({ token: sent, logProbability }: z.output<typeof TokenReply>) {
	const token = sent ?? "";
	return { token, logprob: logProbability ?? 0, bytes: [...new TextEncoder().encode(token)] };
}
