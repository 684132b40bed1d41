/** Reads the body of a complete chat reply. Some hosts answer with a stream although none was requested: its chunks are collected. */
import { createParser } from "eventsource-parser";
import { isRecord, parseLooseJson } from "../../../core/json.ts";
import { isDone } from "../../../streams/sse.ts";
import { ChunkCollector } from "../../chunk-collector.ts";
import { dataLines, isKeepAlive, JSON_START, withUsualFields } from "../../transport/chunk-text.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { ChatEventReader } from "./chat-events.ts";
import { usualForm } from "./forms.ts";
import type { ToolCallContext } from "./sent-calls.ts";

/** Returns a parser for the text of a reply: JSON, or events. An error event is returned as it is. */
export const chatReplyParser =
	(context: () => ToolCallContext, choices: number) =>
	(text: string): unknown => {
		const parsed = parseLooseJson(text.replace(/^\uFEFF/, ""));
		const reader = () => new ChatEventReader(context, choices);
		if (parsed === undefined) return collect(dataIn(withUsualFields(text)), reader());
		if (!Array.isArray(parsed) || parsed.length < 2) return replyIn(parsed);
		return isErrorBody(parsed)
			? parsed
			: collect(
					parsed.map((chunk) => JSON.stringify(chunk)),
					reader(),
					true,
				);
	};

/** The reply itself, the one of a list, or the answer in another form. An error has no answer. */
function replyIn(sent: unknown): unknown {
	const [only = sent] = Array.isArray(sent) && sent.length === 1 ? sent : [];
	if (!isRecord(only)) return sent;
	return isErrorBody(only) ? only : (usualForm(only) ?? sent);
}

/**
 * `undefined`: there are no events, or one that cannot be read before the answer has ended. `isWhole`: nothing follows the list, so its
 * end is that of the answer.
 */
function collect(list: readonly string[], reader: ChatEventReader, isWhole = false): unknown {
	let isDoneSent = isWhole;
	const collector = new ChunkCollector();
	const add = (chunk: Record<string, unknown>): void => collector.add(chunk as Chunk);
	for (const data of list) {
		if (isDone(data)) {
			isDoneSent = true;
			break;
		}
		const sent = parseLooseJson(data);
		if (isErrorBody(sent)) return { error: sent };
		if (sent === undefined && !isKeepAlive(undefined, data) && !collector.completion()) return undefined;
		for (const event of (Array.isArray(sent) ? sent : [sent]).filter(isRecord)) {
			const read = reader.read(event);
			if (read.kind === "failed") return { error: read.error ?? { message: "The answer failed" } };
			if (read.kind === "unread") return undefined;
			if (read.kind === "chunk") add(read.chunk);
		}
	}
	const last = isDoneSent ? reader.end() : undefined;
	if (last?.kind === "failed") return { error: { message: "The answer failed" } };
	if (last?.kind === "unread") return undefined;
	if (last?.kind === "chunk") add(last.chunk);
	return collector.completion();
}

/** The data of events, or the lines of JSON. */
function dataIn(text: string): string[] {
	if (!/^data:/m.test(text)) return text.split(/\r\n|\r|\n/).map((line) => line.trim());
	const list: string[] = [];
	const parser = createParser({
		onEvent({ event, data }) {
			if (event === "error") list.push(JSON.stringify({ error: parseLooseJson(data) ?? data }));
			else list.push(...dataLines(data.trim()));
		},
		onError({ field, value, line = "" }) {
			if (field === "error") list.push(JSON.stringify({ error: parseLooseJson(value ?? "") ?? value }));
			else if (JSON_START.test(line)) list.push(line);
		},
	});
	parser.feed(`${text}\n\n`);
	return list;
}

type Chunk = Parameters<ChunkCollector["add"]>[0];
