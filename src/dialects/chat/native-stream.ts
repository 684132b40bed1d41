/**
 * Native chat streams: `{response}` frames, tool calls in parts, the usage last.
 *
 * Known differences: no `p` (the product pads frames to a random length against eavesdroppers who measure them, for
 * most models; replies here stay the same from run to run); the JSON of JSON mode is streamed as text, where the
 * product documents that it cannot be.
 */

import { laterUsage, type Usage } from "../../core/usage.ts";
import { can, type Model } from "../../models/model.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { WriteContext } from "../dialect.ts";
import { firstChoice, parseChunk, type ToolCallPiece, toolCallPieces } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { speech } from "./thoughts.ts";
import { usageFrame } from "./usage.ts";

/** Takes over `events`, a hub stream. */
export function nativeEvents(
	events: ReadableStream<Uint8Array>,
	{ model, uuid, priced }: Pick<WriteContext, "model" | "uuid" | "priced">,
): ReadableStream<Uint8Array> {
	const textOf = speech(model);
	const pieceOf = toolCallPieces(() => `chatcmpl-tool-${uuid().replaceAll("-", "")}`);
	const noCalls = emptyCalls(model);
	let call: number | undefined;
	let usage: Usage | undefined;

	const textFrame = (text: string): string => (text ? frame({ response: text, ...noCalls }) : "");
	const endCall = (): string => (call === undefined ? "" : callFrame(callEnd(call)));

	return mapChatEvents(events, {
		onData(data, value) {
			const chunk = parseChunk(data, value);
			if (chunk === "done") return "";
			usage = laterUsage(usage, chunk.usage);
			const delta = firstChoice(chunk)?.delta;
			if (!delta) return "";
			let out = textFrame(textOf(delta));
			for (const piece of (delta.tool_calls ?? []).map(pieceOf)) {
				if (piece.start) out += endCall();
				call = piece.index;
				out += callFrame(callPart(piece));
			}
			return out;
		},
		onDone: () => endCall() + (usage ? usageFrame(priced(usage)) : "") + DONE,
	});
}

/** Observed: models that call tools, and those that see, say in each frame of text that it calls none. */
const emptyCalls = (model: Model): { tool_calls?: [] } =>
	can(model, "function_calling") || can(model, "vision") ? { tool_calls: [] } : {};

const callFrame = (element: object): string => frame({ tool_calls: [element] });

const callPart = ({ index, start, arguments: text }: ToolCallPiece): object =>
	start
		? {
				id: start.id,
				type: "function",
				index,
				function: { name: start.name, ...(text && { arguments: text }) },
			}
		: { index, function: { arguments: text } };

/** The product closes each call with an element that says nothing. */
const callEnd = (index: number): object => ({
	id: null,
	type: null,
	index,
	function: { name: null, arguments: "" },
});
