/**
 * Reads and writes OpenAI chat chunks: one event to a chunk, a complete reply to a stream of chunks. Engines differ, so
 * only the used fields are checked, and each of them may be absent or `null`.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isAbsent, isRecord, isTextOrAbsent, parseJson, parseRecord } from "../../core/json.ts";
import { repairedObject } from "../../core/json-repair.ts";
import { SentUsage, usageOf } from "../../core/usage.ts";
import { DONE, frame, isDone } from "../../streams/sse.ts";
import type {
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ToolCallDelta,
} from "../../tasks/text-generation/types.ts";

const text = z.string().nullish();
const textOrEmpty = text.transform((sent) => sent ?? "");
const numberOrZero = z
	.number()
	.nullish()
	.transform((sent) => sent ?? 0);

/** JSON text. Some engines send the JSON value itself. */
const argumentsText = z
	.unknown()
	.optional()
	.transform((sent) =>
		typeof sent === "string" || sent === undefined || sent === null ? sent : JSON.stringify(sent),
	);

const WireToolCall = z.looseObject({
	index: numberOrZero,
	id: text,
	type: text,
	function: z.looseObject({ name: text, arguments: argumentsText }).nullish(),
});

const WireDelta = z.looseObject({
	role: text,
	content: text,
	refusal: text,
	reasoning_content: text,
	reasoning: text,
	tool_calls: z.array(WireToolCall).nullish(),
});

const WireChunk = z.looseObject({
	id: textOrEmpty,
	object: z.literal("chat.completion.chunk").catch("chat.completion.chunk"),
	created: numberOrZero,
	model: textOrEmpty,
	choices: z
		.array(
			z.looseObject({
				index: numberOrZero,
				delta: WireDelta.nullish().transform((sent) => sent ?? {}),
				finish_reason: text,
			}),
		)
		.nullable()
		.transform((sent) => sent ?? []),
	usage: SentUsage.transform((usage) => usage ?? null).optional(),
});

/**
 * Parses the data of one event. `value` is the parsed data, if it is available. `id`, `created` and `model` are empty if
 * the engine omits them. Throws 5001.
 */
export function parseChunk(data: string, value?: unknown): ChatChunk | "done" {
	if (value !== undefined) return readChunk(value);
	return isDone(data) ? "done" : readChunk(parseJson(data));
}

/** As {@link parseChunk}, for parsed data. */
export function readChunk(sent: unknown): ChatChunk {
	if (isPlainChunk(sent)) return isAbsent(sent.usage) ? sent : withReadUsage(sent);
	const { data, error } = WireChunk.safeParse(sent);
	if (data) return data;
	throw new AiError("executionFailed", "The engine sent a malformed chunk", { cause: error });
}

/**
 * Whether the chunk already has the form that the schema produces, except for the counts of its usage. Most chunks have it, and this check
 * takes a tenth of the schema's time. The schema puts its own fields first, so of the chunks with usage only those without choices count.
 */
function isPlainChunk(sent: unknown): sent is ChatChunk {
	if (!isRecord(sent) || !Array.isArray(sent.choices)) return false;
	const { id, object, created, model, choices, usage } = sent;
	return (
		typeof id === "string" &&
		object === "chat.completion.chunk" &&
		typeof created === "number" &&
		typeof model === "string" &&
		(isAbsent(usage) || choices.length === 0) &&
		choices.every(isPlainChoice)
	);
}

function withReadUsage({ id, object, created, model, choices, usage, ...fields }: ChatChunk): ChatChunk {
	return { id, object, created, model, choices, usage: usageOf(usage) ?? null, ...fields };
}

function isPlainChoice(choice: unknown): boolean {
	if (!isRecord(choice) || typeof choice.index !== "number" || !isRecord(choice.delta)) return false;
	const { role, content, refusal, reasoning_content, reasoning, tool_calls } = choice.delta;
	return (
		isTextOrAbsent(choice.finish_reason) &&
		isTextOrAbsent(role) &&
		isTextOrAbsent(content) &&
		isTextOrAbsent(refusal) &&
		isTextOrAbsent(reasoning_content) &&
		isTextOrAbsent(reasoning) &&
		isAbsent(tool_calls)
	);
}

/** A part of one tool call. The first part has `start`. */
export interface ToolCallFragment {
	index: number;
	start?: { id: string; name: string };
	arguments: string;
}

/**
 * Assigns fragments to calls and numbers the calls from 0. Some engines send the same index for all calls, so a name at a
 * used index starts another call. If the id is that of the call at the index, the fragment belongs to that call, because
 * some engines repeat id and name with each fragment.
 */
export function toolCallFragments(newId: () => string): (delta: ToolCallDelta) => ToolCallFragment {
	const calls = new Map<number, { id: string; index: number }>();
	let count = 0;
	return (delta) => {
		const { id, function: called } = delta;
		const current = calls.get(delta.index);
		const fragment = called?.arguments ?? "";
		if (current && (!called?.name || id === current.id)) return { index: current.index, arguments: fragment };
		const started = { id: id || newId(), index: count++ };
		calls.set(delta.index, started);
		return {
			index: started.index,
			start: { id: started.id, name: called?.name ?? "" },
			arguments: fragment,
		};
	};
}

/** Arguments for formats that require an object. What cannot be repaired is wrapped, as Anthropic documents for invalid JSON. */
export const argumentsObject = (text: string): Record<string, unknown> =>
	text.trim() === "" ? {} : (parseRecord(repairedObject(text)) ?? { INVALID_JSON: text });

export const firstChoice = (chunk: ChatChunk): ChatChunk["choices"][number] | undefined =>
	chunk.choices.find(({ index }) => index === 0);

/** Engines use one of the two field names; some send the same text in both. */
export const reasoningOf = (message: Pick<ChatDelta, "reasoning" | "reasoning_content">): string =>
	message.reasoning_content || message.reasoning || "";

/**
 * A complete reply as a stream: per choice the role, each text and the calls in one chunk each, and the end; then the
 * usage.
 */
export function completionToChunks(completion: ChatCompletion): ReadableStream<Uint8Array> {
	const { id, created, model, choices, usage } = completion;
	const chunk = (fields: Pick<ChatChunk, "choices" | "usage">): string =>
		frame({ id, object: "chat.completion.chunk", created, model, ...fields } satisfies ChatChunk);
	let events = "";
	for (const { index, message, finish_reason, logprobs } of choices) {
		const add = (delta: ChatDelta, fields: object = {}): void => {
			events += chunk({ choices: [{ index, delta, finish_reason: null, ...fields }] });
		};
		add({ role: "assistant", content: "" });
		const { reasoning_content, reasoning, thinking_blocks, content, refusal, tool_calls } = message;
		const { extra_content, phase, annotations, searched, reasoning_details } = message;
		if (reasoning_content || reasoning)
			add({ ...(reasoning_content && { reasoning_content }), ...(reasoning && { reasoning }) });
		if (reasoning_details?.length) add({ reasoning_details });
		if (thinking_blocks?.length) add({ thinking_blocks });
		if (phase) add({ phase });
		if (content) add({ content }, logprobs ? { logprobs } : {});
		if (extra_content) add({ extra_content });
		if (annotations?.length) add({ annotations });
		if (refusal) add({ refusal });
		for (const { outcome, ...started } of (searched ?? []).flatMap((round) => round.searches)) {
			add({ web_search: started });
			if (outcome) add({ web_search: { ...started, outcome } });
		}
		if (tool_calls?.length)
			add({ tool_calls: tool_calls.map((call, position) => ({ index: position, ...call })) });
		events += chunk({ choices: [{ index, delta: {}, finish_reason }] });
	}
	if (usage) events += chunk({ choices: [], usage });
	const bytes = new TextEncoder().encode(events + DONE);
	return new ReadableStream({
		start(controller) {
			controller.enqueue(bytes);
			controller.close();
		},
	});
}
