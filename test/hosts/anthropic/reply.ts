/** Writes replies of the Messages API, complete and streamed. */
import {
	callsOf,
	deltasOf,
	type HostReply,
	idOf,
	inputTokensOf,
	pageOf,
	piecesOf,
	type Reply,
	textOf,
} from "../script.ts";

const THOUGHTS = "The user wants to be answered.";
export const SIGNATURE = "sig-of-claude";

const usageOf = (reply: Reply) => ({
	input_tokens: inputTokensOf(reply),
	cache_creation_input_tokens: 0,
	cache_read_input_tokens: 7,
	output_tokens: 9,
});

export interface MessageOptions {
	model: string;
	stream: boolean;
	/** The reply begins with a thinking block. */
	thinks: boolean;
}

export function messageReply(reply: Exclude<Reply, { kind: "failure" }>, options: MessageOptions): HostReply {
	const head = { id: idOf("msg_"), type: "message", role: "assistant", model: options.model };
	if (options.stream) return { events: eventsOf(reply, head, options.thinks) };
	const text = textOf(reply);
	const content = [
		...(options.thinks ? [{ type: "thinking", thinking: THOUGHTS, signature: SIGNATURE }] : []),
		...searchBlocks(reply),
		...(text === "" ? [] : [{ type: "text", text }]),
		...callsOf(reply).map(({ input, name }) => ({ type: "tool_use", id: idOf("toolu_"), name, input })),
	];
	return {
		json: { ...head, content, stop_reason: stopReason(reply), stop_sequence: null, usage: usageOf(reply) },
	};
}

/** The host's own call of its search, and the result. */
function searchBlocks(
	reply: Reply,
): [use: { type: string; id: string; name: string; input: object }, result: object] | [] {
	if (reply.kind !== "search") return [];
	const id = idOf("srvtoolu_");
	const page = {
		type: "web_search_result",
		...pageOf(reply.query),
		encrypted_content: "RWVu",
		page_age: null,
	};
	return [
		{ type: "server_tool_use", id, name: "web_search", input: { query: reply.query } },
		{ type: "web_search_tool_result", tool_use_id: id, content: [page] },
	];
}

const stopReason = (reply: Reply): string => (reply.kind === "tools" ? "tool_use" : "end_turn");

async function* eventsOf(
	reply: Exclude<Reply, { kind: "failure" }>,
	head: object,
	thinks: boolean,
): AsyncGenerator<string> {
	const event = (type: string, fields: object = {}) =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
	let index = 0;
	const start = (content_block: object) => event("content_block_start", { index, content_block });
	const change = (delta: object) => event("content_block_delta", { index, delta });
	const stop = () => event("content_block_stop", { index: index++ });
	yield event("message_start", {
		message: {
			...head,
			content: [],
			stop_reason: null,
			stop_sequence: null,
			usage: { ...usageOf(reply), output_tokens: 1 },
		},
	});
	yield event("ping");
	if (thinks) {
		yield start({ type: "thinking", thinking: "", signature: "" });
		for (const thinking of piecesOf(THOUGHTS)) yield change({ type: "thinking_delta", thinking });
		yield change({ type: "signature_delta", signature: SIGNATURE });
		yield stop();
	}
	const [use, result] = searchBlocks(reply);
	if (use && result) {
		yield start({ ...use, input: {} });
		yield change({ type: "input_json_delta", partial_json: JSON.stringify(use.input) });
		yield stop();
		yield start(result);
		yield stop();
	}
	let writing = false;
	for await (const delta of deltasOf(reply)) {
		if (delta.kind === "text") {
			if (!writing) yield start({ type: "text", text: "" });
			writing = true;
			yield change({ type: "text_delta", text: delta.text });
			continue;
		}
		yield start({ type: "tool_use", id: idOf("toolu_"), name: delta.name, input: {} });
		for (const partial_json of ["", ...piecesOf(JSON.stringify(delta.input))])
			yield change({ type: "input_json_delta", partial_json });
		yield stop();
	}
	if (writing) yield stop();
	yield event("message_delta", {
		delta: { stop_reason: stopReason(reply), stop_sequence: null },
		usage: { output_tokens: usageOf(reply).output_tokens },
	});
	yield event("message_stop");
}
