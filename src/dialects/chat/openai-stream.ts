/**
 * OpenAI chat chunk streams, passed on. A chunk's text is changed only where it must be, and parsed only where its
 * text does not show what is needed.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord, parseJson } from "../../core/json.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { readChunk } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { usageFrame } from "./usage.ts";

/**
 * What the end of a stream tells of its usage. `native`: the chunks as they are, then the native usage frame; so the
 * product's own route does. `chunk`, `none`: with OpenAI's usage chunk, as its routes do when asked, or without.
 */
export type UsageEnding = "native" | "chunk" | "none";

/** Takes over `events`, a hub stream. */
export function openAiEvents(
	events: ReadableStream<Uint8Array>,
	context: Pick<WriteContext, "model" | "now" | "priced">,
	ending: UsageEnding,
): ReadableStream<Uint8Array> {
	const pass = passChunks(context);
	let usage: Usage | undefined;
	let told = false;
	let last: ChatChunk | undefined;

	return mapChatEvents(events, {
		onData(data, value) {
			const { text, chunk } = pass(data, value);
			if (!chunk?.usage) return `data: ${text}\n\n`;
			last = chunk;
			usage = laterUsage(usage, chunk.usage);
			const isUsageChunk = chunk.choices.length === 0;
			if (ending === "none") return isUsageChunk ? "" : withoutUsage(text);
			// Zeros after the true totals: OpenAI's clients would believe them, the product's look at the frame after.
			if (ending === "chunk" && isUsageChunk && usage !== chunk.usage) return "";
			told ||= isUsageChunk;
			if (!isUsageChunk) return `data: ${text}\n\n`;
			const priced = context.priced(chunk.usage);
			return priced === chunk.usage ? `data: ${text}\n\n` : frame({ ...chunk, usage: priced });
		},
		onDone() {
			if (!usage || !last || ending === "none") return DONE;
			if (ending === "native") return usageFrame(context.priced(usage)) + DONE;
			return told ? DONE : frame({ ...last, choices: [], usage: context.priced(usage) }) + DONE;
		},
	});
}

function withoutUsage(data: string): string {
	const { usage: _, ...rest } = JSON.parse(data) as ChatChunk;
	return frame(rest);
}

/** In JSON a quotation mark inside a text is escaped, so that an unescaped name with a colon is a key. */
const MODEL_FIELD = /"model"\s*:\s*"[^"\\]*(?:\\.[^"\\]*)*"/;
/** Counts, and what an engine may say otherwise than OpenAI does in any of its chunks. */
const LOOK_INSIDE = /"usage"\s*:\s*\{|"arguments"\s*:\s*[^"\s]|"index"\s*:\s*null/;

/**
 * Gives each chunk the catalogue's name of the model, and what a chunk must have where an engine left it out. Most
 * engines begin every chunk of a stream alike, up to the model's name: of a chunk that begins as one before it did,
 * and has nothing to look at, only that beginning is replaced. Any other is parsed, and `chunk` is what it says.
 */
function passChunks({
	model,
	now,
}: Pick<WriteContext, "model" | "now">): (
	data: string,
	value?: unknown,
) => { text: string; chunk?: ChatChunk } {
	let known: Beginning | undefined;
	return (data, value) => {
		if (known && data.startsWith(known.sent) && !LOOK_INSIDE.test(data))
			return { text: renamed(data, known) };
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
		known = beginningOf(data, model.id);
		if (read.model === model.id) return { text: data, chunk };
		return {
			text: known ? renamed(data, known) : JSON.stringify({ ...(sent as ChatChunk), model: model.id }),
			chunk,
		};
	};
}

/** The text of a chunk up to the name of the model, that included: as the engine sent it, and with our name. */
interface Beginning {
	sent: string;
	named: string;
}

const renamed = (data: string, { sent, named }: Beginning): string => named + data.slice(sent.length);

/** `undefined` where there is no name, or the first one belongs to something inside the chunk. */
function beginningOf(data: string, name: string): Beginning | undefined {
	const field = MODEL_FIELD.exec(data);
	if (!field) return undefined;
	const sent = data.slice(0, field.index + field[0].length);
	// One brace makes it whole where the name is the chunk's own, and not of something inside it.
	if (!isRecord(parseJson(`${sent}}`))) return undefined;
	return { sent, named: `${data.slice(0, field.index)}"model":${JSON.stringify(name)}` };
}
