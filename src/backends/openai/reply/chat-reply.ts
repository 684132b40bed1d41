/** Reads a complete chat reply of an engine. Only its form is checked: there is a choice. */
import * as z from "zod";
import type { AiError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json.ts";
import { withThoughts } from "../../../core/usage-formats.ts";
import type {
	ChatChoice,
	ChatCompletion,
	ChatInput,
	ToolCall,
} from "../../../tasks/text-generation/types.ts";
import { failureToRead } from "../../output-state.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { type Call, failureOfBody, failureOfTarget } from "../../transport/upstream-failure.ts";
import type { RepairedEvent } from "./chat-events.ts";
import { type CallState, finishReasonOf, isGivenUp, readFinishReason } from "./finish-reasons.ts";
import { outputState, readChoice } from "./message.ts";
import { isCutOff, readToolCalls, sentCallsOf, type ToolCallContext, toolContext } from "./sent-calls.ts";
import { ReplyUsage, usageIn } from "./usage.ts";

export const ChatCompletionReply = z.looseObject({
	choices: z.array(z.looseObject({})).min(1),
	usage: ReplyUsage.optional(),
});
export type ChatCompletionReply = z.output<typeof ChatCompletionReply>;

/** The engine has given the answer up. */
const failureOfAnswer = (call: Call) =>
	failureOfTarget(call.target, "executionFailed", "could not finish its answer");

/** The failure of an event that ends its answer. */
export function failureOfEvent(call: Call, event: RepairedEvent): AiError | undefined {
	if (event.kind === "unread") return failureToRead(call, event.sent);
	if (event.kind !== "failed") return undefined;
	return event.error === undefined ? failureOfAnswer(call) : failureOfBody(call, { error: event.error });
}

/** Adds the fields that the engine omitted. Fields that are not read are unchanged. */
export function completion(
	reply: ChatCompletionReply,
	call: Call,
	input: Pick<ChatInput, "tools" | "n">,
): ChatCompletion {
	// OpenRouter: an error beside the answer so far.
	if (isErrorBody(reply)) throw failureOfBody(call, reply);
	const { target, services } = call;
	const { id, created, model, system_fingerprint } = reply;
	const context = toolContext(input, call);
	const usage = usageIn(reply);
	return {
		...reply,
		id: typeof id === "string" && id !== "" ? id : `chatcmpl-${services.uuid()}`,
		object: "chat.completion",
		created: typeof created === "number" ? created : Math.floor(services.now() / 1000),
		model: typeof model === "string" ? model : target.model,
		choices: requestedChoices(reply, input).map((choice, position) =>
			completeChoice(choice, position, context, call),
		),
		usage: usage && withThoughts(usage, model),
		...(system_fingerprint !== undefined && {
			system_fingerprint: typeof system_fingerprint === "string" ? system_fingerprint : null,
		}),
	};
}

/** Some engines number the only choice 1, or send more choices than the request has. Clients read the one with the index 0. */
function requestedChoices({ choices }: ChatCompletionReply, { n = 1 }: Pick<ChatInput, "n">): unknown[] {
	return n > 1 ? choices : choices.slice(0, 1).map((choice) => ({ ...choice, index: 0 }));
}

function stateOf(calls: readonly ToolCall[]): CallState {
	if (calls.length === 0) return "none";
	return calls.some(({ function: called }) => isCutOff(called.arguments)) ? "cut" : "complete";
}

function completeChoice(sent: unknown, position: number, context: ToolCallContext, call: Call): ChatChoice {
	const { index, message, error, fields } = readChoice(sent, position);
	if (error !== undefined) throw failureOfBody(call, { error });
	const { tool_calls, function_call, ...texts } = message;
	const calls = readToolCalls(sentCallsOf(message), context);
	const sentReason = readFinishReason(fields.finish_reason);
	const reason = finishReasonOf(sentReason, stateOf(calls), outputState(texts));
	if (reason === undefined) throw isGivenUp(sentReason) ? failureOfAnswer(call) : failureToRead(call, sent);
	const isLegacy = isRecord(function_call);
	return {
		...fields,
		index,
		message: {
			...texts,
			role: "assistant",
			content: message.content ?? null,
			...(function_call === null && { function_call }),
			...((tool_calls !== undefined || isLegacy) && {
				tool_calls: calls.length > 0 ? calls : Array.isArray(tool_calls) ? [] : null,
			}),
		},
		finish_reason: reason,
	};
}
