/**
 * Forwards OpenAI chat chunk streams. The text of a chunk is changed only where necessary, and parsed only if a text search
 * is not enough.
 */
import { isDeepStrictEqual } from "node:util";
import { parseJson, parseRecord } from "../../core/json.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { surroundingsBy } from "../../streams/delta-event.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { readChunk } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { usageFrame } from "./usage.ts";

/**
 * The usage at the end of a stream. `native`: the product's own route forwards the chunks unchanged and adds the native
 * usage event. `chunk`: OpenAI's usage chunk. `none`: no usage.
 */
export type UsageEnding = "native" | "chunk" | "none";

/** Takes over `events`, a hub stream. */
export function openAiEvents(
	events: ReadableStream<Uint8Array>,
	context: Pick<WriteContext, "model" | "now" | "withCost">,
	ending: UsageEnding,
): ReadableStream<Uint8Array> {
	const rewrite = chunkRewriter(context);
	let usage: Usage | undefined;
	let usageSent = false;
	let last: ChatChunk | undefined;

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
			if (ending === "chunk" && isUsageChunk && usage !== chunk.usage) return "";
			usageSent ||= isUsageChunk;
			if (!isUsageChunk) return `data: ${text}\n\n`;
			const usageWithCost = context.withCost(chunk.usage);
			return usageWithCost === chunk.usage ? `data: ${text}\n\n` : frame({ ...chunk, usage: usageWithCost });
		},
		onDone() {
			if (!usage || !last || ending === "none") return DONE;
			if (ending === "native") return usageFrame(context.withCost(usage)) + DONE;
			return usageSent ? DONE : frame({ ...last, choices: [], usage: context.withCost(usage) }) + DONE;
		},
	});
}

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
