/**
 * Requests of callers who use the Responses API themselves: the service receives their items, tools and fields as they are, also those
 * that the gateway does not know. The gateway sets the model, the limits, and that nothing is stored; it opens its seals.
 */
import * as z from "zod";
import { isRecord } from "../../../core/json.ts";
import { present } from "../../../core/present.ts";
import { safeParse } from "../../../schemas/safe-parse.ts";
import type { ChatInput, Verbatim } from "../../../tasks/text-generation/types.ts";
import { DROPPED_SEAL, type Seals } from "../../seals.ts";
import type { Call } from "../../transport/upstream-failure.ts";
import { serviceAt } from "../hosts.ts";
import { itemsOf, type ResponsesItem } from "./items.ts";
import { bodyOf, ENCRYPTED_REASONING, streamFields } from "./request.ts";

/** Fields that need stored responses, which are the gateway's, and fields whose value the gateway decides. */
const OWN_FIELDS = [
	"background",
	"conversation",
	"max_output_tokens",
	"previous_response_id",
	"stream_options",
	"temperature",
	"top_logprobs",
	"top_p",
] as const;

export function verbatimBody(
	input: ChatInput,
	verbatim: Verbatim,
	call: Call,
	seals: Seals | undefined,
): Record<string, unknown> {
	const sent = Object.fromEntries(
		Object.entries(present(verbatim.body)).filter(([name]) => !OWN_FIELDS.some((own) => own === name)),
	);
	const { dropped: _, web_search: _search, ...chat } = input;
	// The fields whose value depends on the model or on limits are those of the converted request.
	const converted = bodyOf({ ...chat, messages: [] }, { ...call, report: { dropped: [] } }, seals);
	const { max_output_tokens, temperature, top_p, top_logprobs, include, reasoning } = converted;
	const added = input.messages.slice(verbatim.messages);
	return {
		...sent,
		...present({ max_output_tokens, temperature, top_p, top_logprobs }),
		model: call.target.model,
		input: [...inputItems(verbatim.body.input, call, seals), ...itemsOf(added, call, seals)],
		include: [...new Set([...listOf(sent.include), ...listOf(include)])].filter(
			(name) => name !== ENCRYPTED_REASONING || listOf(include).includes(name),
		),
		...reasoningOf(sent.reasoning, reasoning),
		store: false,
		...streamFields(input.stream, call),
	};
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The caller's own fields (`context`, `mode`) with the effort that the model has. */
function reasoningOf(sent: unknown, converted: unknown): object {
	const { effort: _, summary: _s, ...fields } = isRecord(sent) ? sent : {};
	const reasoning = { ...fields, ...(isRecord(converted) ? converted : {}) };
	return Object.keys(reasoning).length > 0 ? { reasoning } : { reasoning: undefined };
}

/** The items of the service's own types that it looks up by their id, although they are complete. */
const LOOKED_UP: ReadonlySet<unknown> = new Set([
	"message",
	"reasoning",
	"function_call",
	"function_call_output",
	"custom_tool_call",
	"custom_tool_call_output",
]);

function inputItems(input: unknown, call: Call, seals: Seals | undefined): ResponsesItem[] {
	if (typeof input === "string") return [{ role: "user", content: input }];
	const items = listOf(input)
		.filter(isRecord)
		.flatMap((item) => openItem(item, call, seals));
	const isHosted = serviceAt(call.target).isOpenAi;
	return items
		.filter((item, index) => !(isHosted && item.type === "reasoning" && isLast(items, index)))
		.map((item) => (isHosted ? withoutId(item) : item));
}

/** The service refuses reasoning without an item of the same answer after it. */
function isLast(items: readonly ResponsesItem[], index: number): boolean {
	const next = items[index + 1];
	if (!next) return true;
	return next.role !== undefined && next.role !== "assistant";
}

function withoutId(item: ResponsesItem): ResponsesItem {
	if (!LOOKED_UP.has(item.type ?? "message")) return item;
	const { id: _, ...fields } = item;
	return fields;
}

/** Replaces a seal by what it holds. An item whose seal cannot be opened is left out: without it the item has no meaning. */
function openItem(item: ResponsesItem, call: Call, seals: Seals | undefined): ResponsesItem[] {
	const { encrypted_content: sealed } = item;
	if (typeof sealed !== "string" || sealed === "")
		return item.type === "reasoning" ? openReasoning(item, call) : [item];
	return (seals?.open(sealed) ?? []).slice(0, 1).flatMap((value): ResponsesItem[] => {
		const { data } = safeParse(SealedValue, value);
		if (!data) call.report?.dropped.push(DROPPED_SEAL);
		// A seal of another item stands in an item of reasoning.
		if (data && data.item.type !== item.type) return [data.item];
		return data ? [{ ...item, ...data.item }] : [];
	});
}

/** Also of an item that is not reasoning, such as a compaction. */
const SealedValue = z.object({ item: z.looseObject({ type: z.string() }) });

/** Reasoning of another model: only servers of open models read its text. */
const openReasoning = (item: ResponsesItem, { target }: Call): ResponsesItem[] =>
	serviceAt(target).isOpenAi ? [] : [item];
