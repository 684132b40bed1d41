/**
 * OpenAI chat chunk streams, passed on. A chunk's text is changed only where it must be, and parsed only where its
 * text does not show what is needed.
 */
import { DONE, frame } from "../../sse.ts";
import type { ChatChunk, Usage } from "../../tasks/text-generation.ts";
import type { WriteContext } from "../dialect.ts";
import { parseChunk } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { laterUsage, usageFrame } from "./usage.ts";

/**
 * What the end of a stream tells of its usage. `native`: the chunks as they are, then the native usage frame; so the
 * product's own route does. `chunk`, `none`: with OpenAI's usage chunk, as its routes do when asked, or without.
 */
export type UsageEnding = "native" | "chunk" | "none";

/** Takes over `events`, a hub stream. */
export function openAiEvents(
	events: ReadableStream<Uint8Array>,
	context: Pick<WriteContext, "model" | "now">,
	ending: UsageEnding,
): ReadableStream<Uint8Array> {
	const name = nameChunks(context);
	let usage: Usage | undefined;
	let told = false;
	let last: ChatChunk | undefined;

	return mapChatEvents(events, {
		onData(data) {
			const named = name(data);
			if (!HAS_USAGE.test(named)) return `data: ${named}\n\n`;
			const chunk = parseChunk(named);
			if (chunk === "done") return "";
			last = chunk;
			usage = laterUsage(usage, chunk.usage);
			const isUsageChunk = chunk.choices.length === 0;
			if (ending === "none") return isUsageChunk ? "" : withoutUsage(named);
			// Zeros after the true totals: OpenAI's clients would believe them, the product's look at the frame after.
			if (ending === "chunk" && isUsageChunk && usage !== chunk.usage) return "";
			told ||= isUsageChunk;
			return `data: ${named}\n\n`;
		},
		onDone() {
			if (!usage || !last || ending === "none") return DONE;
			if (ending === "native") return usageFrame(usage) + DONE;
			return told ? DONE : frame({ ...last, choices: [], usage }) + DONE;
		},
	});
}

/** In JSON a quotation mark inside a text is escaped, so that an unescaped name with a colon is a key. */
const HAS_USAGE = /"usage"\s*:\s*\{/;
const MODEL_FIELD = /"model"\s*:\s*"(?:[^"\\]|\\.)*"/;

function withoutUsage(data: string): string {
	const { usage: _, ...rest } = JSON.parse(data) as ChatChunk;
	return frame(rest);
}

/**
 * Gives each chunk the catalogue's name of the model, in its text. An engine that leaves out what a chunk must have
 * leaves it out of all: then, as its first chunk shows, every chunk is parsed and completed.
 */
export function nameChunks({ model, now }: Pick<WriteContext, "model" | "now">): (data: string) => string {
	const field = `"model":${JSON.stringify(model.id)}`;
	let complete: boolean | undefined;
	return (data) => {
		if (complete === undefined) {
			const first = parseChunk(data);
			complete = first !== "done" && first.id !== "" && first.created !== 0 && MODEL_FIELD.test(data);
		}
		if (complete) return data.includes(field) ? data : data.replace(MODEL_FIELD, () => field);
		const { id, object: _object, created, model: _model, ...rest } = JSON.parse(data) as Partial<ChatChunk>;
		return JSON.stringify({
			id: id || `id-${now}`,
			object: "chat.completion.chunk",
			created: created || Math.floor(now / 1000),
			model: model.id,
			...rest,
		});
	};
}
