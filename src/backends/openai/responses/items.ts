/**
 * Converts chat messages to the items of a Responses request. Sealed reasoning items are put back where they were among the items
 * of their answer: OpenAI's models require each before the message or the call that it belongs to. Without an `id`, which the
 * service would look up among its stored items.
 */
import * as z from "zod";
import { present } from "../../../core/present.ts";
import { safeParse } from "../../../schemas/safe-parse.ts";
import type { ChatMessage, ContentPart } from "../../../tasks/text-generation/types.ts";
import { openMessage } from "../../sealed-messages.ts";
import { DROPPED_SEAL, type Seals } from "../../seals.ts";
import { pairResults } from "../../tool-results.ts";
import type { Call } from "../../transport/upstream-failure.ts";
import { unsupported } from "../../unsupported.ts";
import { fittingId } from "../call-ids.ts";
import { serviceAt } from "../hosts.ts";

export type ResponsesItem = Record<string, unknown>;

/** A reasoning item of an answer, or the search that follows it, and its place among the items of the answer. */
export const SealedItem = z.object({
	at: z.number(),
	item: z.looseObject({ type: z.enum(["reasoning", "web_search_call"]) }),
});
export type SealedItem = z.output<typeof SealedItem>;

/** The service refuses longer ones. */
const CALL_IDS = /^.{1,64}$/s;

export function itemsOf(
	messages: readonly ChatMessage[],
	call: Call,
	seals: Seals | undefined,
): ResponsesItem[] {
	return pairResults(messages, "text").flatMap((message): ResponsesItem[] => {
		switch (message.role) {
			case "assistant":
				return assistantItems(message, call, seals);
			case "tool": {
				const output = outputOf(message.content, call);
				return [
					{ type: "function_call_output", call_id: fittingId(message.tool_call_id ?? "", CALL_IDS), output },
				];
			}
			default:
				return [{ type: "message", role: message.role, content: inputParts(message.content, call) }];
		}
	});
}

function assistantItems(message: ChatMessage, call: Call, seals: Seals | undefined): ResponsesItem[] {
	const { content, tool_calls = [], phase } = message;
	const parts = answerParts(content);
	const others: ResponsesItem[] = [
		...(parts.length > 0
			? [{ type: "message", role: "assistant", content: parts, ...present({ phase }) }]
			: []),
		...tool_calls.map(({ id, function: called }) => ({
			type: "function_call",
			call_id: fittingId(id, CALL_IDS),
			...called,
		})),
	];
	const reasoning = openMessage(message, seals).flatMap((value) => {
		const { data } = safeParse(SealedItem, value);
		if (!data) call.report?.dropped.push(DROPPED_SEAL);
		return data ?? [];
	});
	const { isOpenAi } = serviceAt(call.target);
	const isOpen = reasoning.length === 0 && !isOpenAi && message.reasoning_content;
	if (isOpen && others.length > 0) return [openReasoning(message.reasoning_content ?? "", call), ...others];
	return withReasoning(others, reasoning, !isOpenAi);
}

/**
 * Inserts each sealed item at its place, or before the last item, if the caller sent fewer. OpenAI refuses one without an item
 * after it.
 */
function withReasoning(
	others: readonly ResponsesItem[],
	reasoning: readonly SealedItem[],
	keepsIds: boolean,
): ResponsesItem[] {
	const items: ResponsesItem[] = [...others];
	const sorted = [...reasoning].sort((one, other) => one.at - other.at);
	for (const { at, item } of sorted) {
		if (others.length > 0) items.splice(Math.min(at, items.length - 1), 0, sentItem(item, keepsIds));
	}
	return items;
}

/** A search is sent as it came: it is not looked up. */
function sentItem(item: SealedItem["item"], keepsIds: boolean): ResponsesItem {
	const { id, status: _, ...fields } = item;
	return item.type === "reasoning" ? { ...(keepsIds && { id }), ...fields } : item;
}

/** The reasoning of an open model, whose server returns its text. */
const openReasoning = (text: string, { services }: Call): ResponsesItem => ({
	type: "reasoning",
	id: `rs_${services.uuid().replaceAll("-", "")}`,
	summary: [],
	content: [{ type: "reasoning_text", text }],
});

/** The parts of an assistant's text. The service refuses `input_text` there. */
function answerParts(content: ChatMessage["content"]): ResponsesItem[] {
	const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : (content ?? []);
	return parts.flatMap(({ text, refusal }: ContentPart): ResponsesItem[] => {
		if (refusal) return [{ type: "refusal", refusal }];
		return text ? [{ type: "output_text", text, annotations: [] }] : [];
	});
}

const inputParts = (content: ChatMessage["content"], call: Call): ResponsesItem[] =>
	typeof content === "string"
		? [{ type: "input_text", text: content }]
		: (content ?? []).map((part) => inputPart(part, call));

function outputOf(content: ChatMessage["content"], call: Call): string | ResponsesItem[] {
	if (typeof content === "string" || content === null) return content ?? "";
	return inputParts(content, call);
}

function inputPart(part: ContentPart, call: Call): ResponsesItem {
	switch (part.type) {
		case "text":
		case "refusal":
			return { type: "input_text", text: part.text ?? part.refusal ?? "" };
		case "image_url":
			return {
				type: "input_image",
				image_url: part.image_url?.url ?? "",
				detail: part.image_url?.detail ?? "auto",
			};
		case "file":
			return { type: "input_file", ...present({ ...part.file }) };
		case "input_audio":
			throw unsupported(call, "takes no audio by its Responses API");
		default:
			return part.type satisfies never;
	}
}
