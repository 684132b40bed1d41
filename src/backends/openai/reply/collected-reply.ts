/** Reads the body of a complete chat reply. Some hosts answer with a stream although none was requested: its chunks are collected. */
import { createParser } from "eventsource-parser";
import { isRecord, parseLooseJson } from "../../../core/json.ts";
import { isDone } from "../../../streams/sse.ts";
import { ChunkCollector } from "../../chunk-collector.ts";
import { isKeepAlive, JSON_START } from "../../transport/chunk-text.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { ChatEventReader } from "./chat-events.ts";
import type { ToolCallContext } from "./sent-calls.ts";

/** Returns a parser for the text of a reply: JSON, or events. An error event is returned as it is. */
export const chatReplyParser =
	(context: ToolCallContext, choices: number) =>
	(text: string): unknown => {
		const parsed = parseLooseJson(text.replace(/^\uFEFF/, ""));
		return parsed === undefined ? collect(text, new ChatEventReader(context, choices)) : replyIn(parsed);
	};

/** The reply itself, or the one in an envelope: Cloudflare's `result`, Zhipu's `data`, a list of one. */
function replyIn(sent: unknown): unknown {
	const [only = sent] = Array.isArray(sent) && sent.length === 1 ? sent : [];
	if (!isRecord(only)) return sent;
	const found = [only, only.result, only.data].find((reply) => isRecord(reply) && reply.choices);
	if (!isRecord(found)) return sent;
	return isRecord(found.choices) ? { ...found, choices: [found.choices] } : found;
}

/** `undefined`: the text has no events, or one that cannot be read before the answer has ended. */
function collect(text: string, reader: ChatEventReader): unknown {
	let isDoneSent = false;
	const collector = new ChunkCollector();
	const add = (chunk: Record<string, unknown>): void => collector.add(chunk as Chunk);
	for (const data of dataIn(text)) {
		isDoneSent = isDone(data);
		if (isDoneSent) break;
		const sent = parseLooseJson(data);
		if (isErrorBody(sent)) return { error: sent };
		if (sent === undefined && !isKeepAlive(undefined, data) && !collector.completion()) return undefined;
		if (!isRecord(sent)) continue;
		const read = reader.read(sent);
		if (read.kind === "failed") return { error: read.error ?? { message: "The answer failed" } };
		if (read.kind === "chunk") add(read.chunk);
	}
	const last = isDoneSent ? reader.end() : undefined;
	if (last?.kind === "failed") return { error: { message: "The answer failed" } };
	if (last?.kind === "chunk") add(last.chunk);
	return collector.completion();
}

/** The data of events, or the lines of JSON. */
function dataIn(text: string): string[] {
	if (!/^data:/m.test(text)) return text.split(/\r\n|\r|\n/).map((line) => line.trim());
	const list: string[] = [];
	const parser = createParser({
		onEvent: ({ data }) => list.push(data.trim()),
		onError({ field, value, line = "" }) {
			if (field === "error") list.push(JSON.stringify({ error: parseLooseJson(value ?? "") ?? value }));
			else if (JSON_START.test(line)) list.push(line);
		},
	});
	parser.feed(`${text}\n\n`);
	return list;
}

type Chunk = Parameters<ChunkCollector["add"]>[0];
