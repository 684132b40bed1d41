/**
 * Writes OpenAI chat replies: the engine's reply with the catalogue's name of the model. The text of a stream's chunk is changed
 * only where necessary, and parsed only if a text search is not enough.
 */
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { isRecord, parseJson, parseRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import type { Model } from "../../models/model.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import { surroundingsBy } from "../../streams/delta-event.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { ChatChunk, ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { NativeWriter, Rendered, WriteContext } from "../dialect.ts";
import { type ChatReply, chatReply, chatWriter } from "./call.ts";
import { readChunk } from "./chunks.ts";
import { customCallEvents, customNames, withCustomCalls } from "./custom-tools.ts";
import { mapChatEvents } from "./events.ts";
import { OpenAiCall } from "./native-write.ts";
import { TextCompletion, textCompletion, textCompletionEvents } from "./text-completion.ts";
import { hasFunctions, legacyFunctionEvents, toLegacyCompletion } from "./tools.ts";
import { costComment, NativeUsage, type UsageEnding, usageFrame } from "./usage.ts";

export const OpenAiCompletion = lazy(() =>
	z.object({
		id: z.string(),
		object: z.literal("chat.completion"),
		created: z.int(),
		model: z.string(),
		choices: z.array(
			z.object({
				index: z.int(),
				message: z.object({
					role: z.literal("assistant"),
					content: z.string().nullable(),
					refusal: z.string().nullable(),
					reasoning_content: z.string().nullish(),
					tool_calls: z.array(OpenAiCall()).nullish(),
				}),
				finish_reason: z.string(),
				logprobs: z.unknown(),
			}),
		),
		usage: NativeUsage.nullish(),
		system_fingerprint: z.string().nullish(),
	}),
);

/**
 * The end of a stream on a model's own route: the native usage event. Streams of third-party models end with OpenAI's usage
 * chunk, because their clients read them as OpenAI's streams and refuse other events.
 */
const endingOf = ({ id }: Model): UsageEnding => (isThirdPartyId(id) ? "chunk" : "native");

/** The writer of a model's own route. */
export const openAiWriter: NativeWriter = {
	schema: OpenAiCompletion,
	write(answer, context) {
		return writeOpenAi(chatReply(answer, context), context, endingOf(context.model));
	},
};

const NO_NAMES: ReadonlySet<string> = new Set();

/** If the caller sent `functions`, a call is written in the legacy form, and a call of a custom tool in its own. */
export function writeOpenAi(reply: ChatReply, context: WriteContext, ending: UsageEnding): Rendered {
	const { functions, tools } = isRecord(context.inputs) ? context.inputs : {};
	const isLegacy = Boolean(functions) && hasFunctions(context.inputs);
	const custom = tools ? customNames(context.inputs) : NO_NAMES;
	if (reply.kind === "stream") {
		const events = reply.hasErrorFrame ? reply.events : openAiEvents(reply.events, context, ending);
		if (isLegacy) return { kind: "events", events: legacyFunctionEvents(events) };
		return { kind: "events", events: custom.size > 0 ? customCallEvents(events, custom) : events };
	}
	const written = openAiCompletion(reply.completion, context);
	// OpenAI's answers have the field, and OpenRouter's SDK refuses an answer without it.
	const completion = ending === "native" ? written : { system_fingerprint: null, ...written };
	if (isLegacy) return { kind: "json", value: toLegacyCompletion(completion) };
	return { kind: "json", value: custom.size > 0 ? withCustomCalls(completion, custom) : completion };
}

const VllmCompletion = lazy(() => OpenAiCompletion().extend({ prompt_logprobs: z.unknown() }));

/** For models that also accept legacy inputs: the answer to a `prompt` is a `text_completion`. */
export const vllmWriter: NativeWriter = {
	schema: () => z.union([VllmCompletion(), TextCompletion()]),
	...chatWriter({
		value: (completion, context) =>
			hasPrompt(context.inputs)
				? textCompletion(completion, context)
				: { prompt_logprobs: null, ...openAiCompletion(completion, context) },
		events: (events, context) =>
			hasPrompt(context.inputs)
				? textCompletionEvents(events, context, { usage: "native" })
				: openAiEvents(events, context, "native"),
	}),
};

const hasPrompt = (inputs: unknown): boolean =>
	typeof inputs === "object" && inputs !== null && "prompt" in inputs;

/** Keeps all fields of the engine and adds the required fields of OpenAI's form that the engine omitted. */
function openAiCompletion(
	completion: ChatCompletion,
	{ model, now, withCost }: Pick<WriteContext, "model" | "now" | "withCost">,
): ChatCompletion {
	const { id, object: _object, created, model: _model, choices, ...fields } = completion;
	return {
		id: id || `id-${now}`,
		object: "chat.completion",
		created: created || Math.floor(now / 1000),
		model: model.id,
		choices: choices.map((choice, position) => ({
			...choice,
			index: choice.index ?? position,
			message: {
				...choice.message,
				role: "assistant",
				content: choice.message.content ?? null,
				refusal: choice.message.refusal ?? null,
			},
			finish_reason: choice.finish_reason || "stop",
			logprobs: choice.logprobs ?? null,
		})),
		...fields,
		...(fields.usage && { usage: withCost(fields.usage) }),
	};
}

/** Takes over `events`, a stream of OpenAI chunks. */
function openAiEvents(
	events: ReadableStream<Uint8Array>,
	context: Pick<WriteContext, "model" | "now" | "withCost" | "recordStream">,
	ending: UsageEnding,
): ReadableStream<Uint8Array> {
	const rewriteChunk = chunkRewriter(context);
	let usage: Usage | undefined;
	let usageSent = false;
	let last: ChatChunk | undefined;
	let isUnchanged = true;
	const rewriteForOpenAi: typeof rewriteChunk = (data, value) => {
		const rewritten = rewriteChunk(data, value);
		const text = withoutNullUsage(rewritten.text);
		// For a caller who requests usage, `null` alone is no reason to read the engine's next streams: the runtime can pass them.
		isUnchanged &&= ending === "none" ? text === data : rewritten.text === data;
		return { ...rewritten, text };
	};
	const rewrite = ending === "native" ? rewriteChunk : rewriteForOpenAi;

	return mapChatEvents(events, {
		onDelta: surroundingsBy((data) => `data: ${rewrite(data).text}\n\n`),
		onData(data, value) {
			const { text, chunk } = rewrite(data, value);
			if (!chunk?.usage) return `data: ${text}\n\n`;
			last = chunk;
			usage = laterUsage(usage, chunk.usage);
			const isUsageChunk = chunk.choices.length === 0;
			if (ending === "none") return isUsageChunk ? "" : withoutUsage(text);
			// Zeros after the true totals. OpenAI's clients would use them; the product's clients use the usage event.
			if (ending !== "native" && isUsageChunk && usage !== chunk.usage) {
				isUnchanged = false;
				return "";
			}
			usageSent ||= isUsageChunk;
			if (!isUsageChunk) return `data: ${text}\n\n`;
			const usageWithCost = ending === "engine" ? chunk.usage : context.withCost(chunk.usage);
			if (usageWithCost === chunk.usage) return `data: ${text}\n\n`;
			isUnchanged = false;
			return frame({ ...chunk, usage: usageWithCost });
		},
		onDone() {
			if (ending === "engine") context.recordStream?.(isUnchanged && usageSent);
			if (!usage || !last || ending === "none") return DONE;
			const usageWithCost = context.withCost(usage);
			if (ending === "native") return usageFrame(usageWithCost) + DONE;
			const { neurons } = usageWithCost;
			const sent = ending === "engine" ? usage : usageWithCost;
			const comment = ending === "engine" && neurons !== undefined ? costComment(neurons) : "";
			return (usageSent ? "" : frame({ ...last, choices: [], usage: sent })) + DONE + comment;
		},
	});
}

/** A quotation mark inside a JSON text is escaped, so this is a key. */
const NULL_USAGE = /,\s*"usage"\s*:\s*null(?=\s*[,}])/;

/**
 * Engines send `null` in each chunk before the usage, as OpenAI does for a caller that requests it. OpenRouter omits the field, and
 * its SDK refuses `null`. All clients accept a chunk without the field.
 */
const withoutNullUsage = (data: string): string =>
	data.includes('"usage"') ? data.replace(NULL_USAGE, "") : data;

function withoutUsage(data: string): string {
	const { usage: _, ...fields } = JSON.parse(data) as ChatChunk;
	return frame(fields);
}

/** The first `model` key and its text value. A quotation mark inside a JSON text is escaped, so `"model":` is a key. */
const MODEL_FIELD = /"model"\s*:\s*"[^"\\]*(?:\\.[^"\\]*)*"/;
/** Usage counts, arguments that are not text, and an index of `null`. A chunk with one of them must be parsed. */
const MUST_PARSE = /"usage"\s*:\s*\{|"arguments"\s*:\s*[^"\s]|"index"\s*:\s*null/;

/**
 * Writes the catalogue's model name into each chunk and adds required fields that the engine omitted. Most engines start
 * every chunk of a stream with the same text, up to the model's name. If a chunk starts with the text of an earlier chunk
 * and {@link MUST_PARSE} does not match, only that prefix is replaced. Any other chunk is parsed and returned as `chunk`.
 */
function chunkRewriter({
	model,
	now,
}: Pick<WriteContext, "model" | "now">): (
	data: string,
	value?: unknown,
) => { text: string; chunk?: ChatChunk } {
	let prefix: ChunkPrefix | undefined;
	return (data, value) => {
		if (prefix && data.startsWith(prefix.sent) && !MUST_PARSE.test(data))
			return { text: withModelName(data, prefix) };
		const sent = value ?? parseJson(data);
		const read = readChunk(sent);
		const chunk = {
			...read,
			id: read.id || `id-${now}`,
			created: read.created || Math.floor(now / 1000),
			model: model.id,
		};
		if (!isDeepStrictEqual(sent, { ...chunk, model: read.model }))
			return { text: JSON.stringify(chunk), chunk };
		prefix = prefixOf(data, model.id);
		if (read.model === model.id) return { text: data, chunk };
		return {
			text: prefix
				? withModelName(data, prefix)
				: JSON.stringify({ ...(sent as ChatChunk), model: model.id }),
			chunk,
		};
	};
}

/** The text of a chunk up to and including the model's name: as the engine sent it, and with the catalogue's name. */
interface ChunkPrefix {
	sent: string;
	replacement: string;
}

const withModelName = (data: string, { sent, replacement }: ChunkPrefix): string =>
	replacement + data.slice(sent.length);

/** `undefined` if there is no name, or if the first one belongs to a nested object. */
function prefixOf(data: string, name: string): ChunkPrefix | undefined {
	const field = MODEL_FIELD.exec(data);
	if (!field) return undefined;
	const sent = data.slice(0, field.index + field[0].length);
	// If the name is at the top level, one brace completes the object.
	if (!parseRecord(`${sent}}`)) return undefined;
	return { sent, replacement: `${data.slice(0, field.index)}"model":${JSON.stringify(name)}` };
}
