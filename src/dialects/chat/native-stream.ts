/**
 * Native chat streams: `{response}` events, tool calls in parts, the usage last.
 *
 * Known differences: no `p` (for most models the product pads events to a random length, so that an observer of encrypted
 * traffic cannot measure them; replies here are reproducible); JSON mode can be streamed, as text, which the product
 * documents as unsupported.
 */
import { laterUsage, type Usage } from "../../core/usage.ts";
import { can, type Model } from "../../models/model.ts";
import { surroundingsBy } from "../../streams/delta-event.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { WriteContext } from "../dialect.ts";
import { firstChoice, parseChunk, type ToolCallFragment, toolCallFragments } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { sealedBlocks, UniqueSeals } from "./sealed.ts";
import { deltaTextWriter } from "./thinking-text.ts";
import { usageFrame } from "./usage.ts";

/** Takes over `events`, a stream of OpenAI chunks. */
export function nativeEvents(
	events: ReadableStream<Uint8Array>,
	{ model, uuid, withCost }: Pick<WriteContext, "model" | "uuid" | "withCost">,
): ReadableStream<Uint8Array> {
	const textOf = deltaTextWriter(model);
	const fragmentOf = toolCallFragments(() => `chatcmpl-tool-${uuid().replaceAll("-", "")}`);
	const noCalls = emptyCalls(model);
	const seals = new UniqueSeals();
	let call: number | undefined;
	let usage: Usage | undefined;

	const textFrame = (text: string): string => (text ? frame({ response: text, ...noCalls }) : "");
	/** The last chunk had content, so no `<think>` block is open. */
	let isContent = false;
	const surroundings = surroundingsBy((data) => {
		const chunk = parseChunk(data);
		return chunk === "done" ? "" : textFrame(firstChoice(chunk)?.delta.content ?? "");
	});
	const endCall = (): string => (call === undefined ? "" : callFrame(callEnd(call)));

	return mapChatEvents(events, {
		onDelta: (template) => (isContent ? surroundings(template) : undefined),
		onData(data, value) {
			isContent = false;
			const chunk = parseChunk(data, value);
			if (chunk === "done") return "";
			usage = laterUsage(usage, chunk.usage);
			const delta = firstChoice(chunk)?.delta;
			if (!delta) return "";
			isContent = !!delta.content;
			const sealed = sealedBlocks(delta, seals);
			let out = textFrame(textOf(delta)) + (sealed.thinking_blocks ? frame({ response: "", ...sealed }) : "");
			for (const fragment of (delta.tool_calls ?? []).map(fragmentOf)) {
				if (fragment.start) out += endCall();
				call = fragment.index;
				out += callFrame(callPart(fragment));
			}
			return out;
		},
		onDone: () => endCall() + (usage ? usageFrame(withCost(usage)) : "") + DONE,
	});
}

/** Observed: for models with tools or image input, each text event has an empty list of calls. */
const emptyCalls = (model: Model): { tool_calls?: [] } =>
	can(model, "function_calling") || can(model, "vision") ? { tool_calls: [] } : {};

const callFrame = (element: object): string => frame({ tool_calls: [element] });

const callPart = ({ index, start, arguments: text }: ToolCallFragment): object =>
	start
		? {
				id: start.id,
				type: "function",
				index,
				function: { name: start.name, ...(text && { arguments: text }) },
			}
		: { index, function: { arguments: text } };

/** The product ends each call with an empty element. */
const callEnd = (index: number): object => ({
	id: null,
	type: null,
	index,
	function: { name: null, arguments: "" },
});
