/** Reads the body of a complete chat reply. Some hosts answer with a stream although none was requested: its chunks are collected. */
import { createParser } from "eventsource-parser";
import { isRecord, parseJson } from "../../../core/json.ts";
import { isDone } from "../../../streams/sse.ts";
import { ChunkCollector } from "../../chunk-collector.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { ChatEventReader } from "./chat-events.ts";
import type { ToolCallContext } from "./sent-calls.ts";

/** Returns a parser for the text of a reply: JSON, or events. An error event is returned as it is. */
export const chatReplyParser =
	(context: ToolCallContext) =>
	(text: string): unknown => {
		const parsed = parseJson(text.replace(/^\uFEFF/, ""));
		return parsed === undefined ? collect(text, new ChatEventReader(context)) : parsed;
	};

/** `undefined`: the text has no events. */
function collect(text: string, reader: ChatEventReader): unknown {
	let isDoneSent = false;
	const collector = new ChunkCollector();
	const add = (chunk: Record<string, unknown>): void => collector.add(chunk as Chunk);
	for (const data of dataIn(text)) {
		isDoneSent = isDone(data);
		if (isDoneSent) break;
		const sent = parseJson(data);
		if (isErrorBody(sent)) return sent;
		if (!isRecord(sent)) continue;
		const read = reader.read(sent);
		if (read.kind === "failed") return { error: read.error ?? { message: "The answer failed" } };
		if (read.kind === "chunk") add(read.chunk);
	}
	const open = isDoneSent ? reader.end() : undefined;
	if (open) add({ ...open });
	return collector.completion();
}

/** The data of events, or the lines of JSON. */
function dataIn(text: string): string[] {
	if (!/^data:/m.test(text)) return text.split(/\r\n|\r|\n/).map((line) => line.trim());
	const list: string[] = [];
	const parser = createParser({ onEvent: ({ data }) => list.push(data.trim()) });
	parser.feed(`${text}\n\n`);
	return list;
}

type Chunk = Parameters<ChunkCollector["add"]>[0];
