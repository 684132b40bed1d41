/** Converts a chat input to the body of `POST /v1/messages`. */
import { type ChatInput, positiveTopK } from "../../tasks/text-generation/types.ts";
import type { Seals } from "../seals.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { loraUnsupported, unsupported } from "../unsupported.ts";
import { withFewBreakpoints } from "./breakpoint-limit.ts";
import { type Thinking, thinkingOf } from "./thinking.ts";
import { calledTools } from "./tool-turns.ts";
import { type AnswerTool, formatOf, isForced, type Offer, offerOf } from "./tools.ts";
import { type Traits, traitsOf } from "./traits.ts";
import { type Conversation, fromUser, isPrefilled, lacksThoughts, readConversation } from "./turns.ts";
import { betasOf, verbatimBody, verbatimConversation, verbatimExtras, withBreakpoints } from "./verbatim.ts";

export interface Request {
	body: Record<string, unknown>;
	/** Set: the arguments of its call are the answer. */
	answerTool?: AnswerTool | undefined;
	/** The caller gets the reply in the format of the API. */
	verbatim?: true;
	/** Features of the API that the caller has chosen for fields of its request. */
	betas?: readonly string[];
}

export function requestOf(input: ChatInput, call: Call, seals: Seals | undefined): Request {
	refuse(input, call);
	const verbatim = input.verbatim?.dialect === "anthropic" ? input.verbatim : undefined;
	const { target } = call;
	if (verbatim?.complete)
		return {
			body: verbatimBody(input, verbatim, { call, seals }),
			betas: betasOf(verbatim),
			verbatim: true,
		};
	const traits = traitsOf(target.model);
	const conversation = verbatim
		? verbatimConversation(input, verbatim, { call, seals })
		: fromUser(readConversation(input.messages, call, seals));
	const format = formatOf(input, traits);
	const answerTool = format.kind === "tool" ? format.tool : undefined;
	const offer = answerTool
		? forcedOffer(answerTool)
		: (offerOf(input, traits, call) ?? calledTools(conversation.messages));
	const { max_tokens, thinking, effort } = thinkingOf(input, traits, {
		forced: offer !== undefined && isForced(offer),
		prefilled: isPrefilled(conversation),
		lacksThoughts: lacksThoughts(conversation),
	});
	const instruction = format.kind === "instruction" ? format.text : undefined;
	const system = instructionsOf(conversation, instruction);
	const output_config = {
		...(effort && { effort }),
		...(format.kind === "grammar" && { format: { type: "json_schema", schema: format.schema } }),
	};
	const body = {
		model: target.model,
		max_tokens,
		...(system && { system }),
		messages: conversation.messages,
		...(offer && {
			tools: verbatim ? withBreakpoints(offer.tools, verbatim) : offer.tools,
			tool_choice: offer.choice,
		}),
		...sampling(input, traits, thinking),
		...stopField(input, call),
		...(input.user && { metadata: { user_id: input.user } }),
		...(input.cache_control && { cache_control: input.cache_control }),
		...(verbatim && verbatimExtras(verbatim)),
		...(thinking && { thinking }),
		...(Object.keys(output_config).length > 0 && { output_config }),
		stream: input.stream,
	};
	return { body: withFewBreakpoints(body, () => call.report?.dropped.push("cache_control")), answerTool };
}

/** The API refuses sequences of white space alone. */
function stopField({ stop = [] }: ChatInput, { report }: Call): { stop_sequences?: string[] } {
	const stop_sequences = stop.filter((sequence) => sequence.trim() !== "");
	if (stop_sequences.length < stop.length) report?.dropped.push("stop");
	return stop_sequences.length > 0 ? { stop_sequences } : {};
}

/** Appends the instruction `last`. */
function instructionsOf({ system }: Conversation, last: string | undefined): Conversation["system"] {
	if (last === undefined) return system;
	if (Array.isArray(system)) return [...system, { type: "text", text: last }];
	return system === undefined ? last : `${system}\n\n${last}`;
}

function forcedOffer({ field: _, ...tool }: AnswerTool): Offer {
	return { tools: [tool], choice: { type: "tool", name: tool.name, disable_parallel_tool_use: true } };
}

function refuse(input: ChatInput, call: Call): void {
	if (input.prompt !== undefined) throw unsupported(call, "continues no text without a conversation");
	if (input.n !== undefined && input.n > 1) throw unsupported(call, "gives one answer at a time");
	if (input.lora !== undefined) throw loraUnsupported(call);
}

/** The API allows temperatures up to 1, and only one of `temperature` and `top_p`. While thinking, it allows neither. */
function sampling(input: ChatInput, traits: Traits, thinking: Thinking["thinking"]): Record<string, unknown> {
	if (!traits.sampling || (thinking && thinking.type !== "disabled")) return {};
	const { temperature, top_p } = input;
	return {
		...(temperature !== undefined
			? { temperature: Math.min(temperature, 1) }
			: top_p !== undefined && { top_p }),
		top_k: positiveTopK(input),
	};
}
