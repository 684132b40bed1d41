/** Everything that an account has stored, as JSON lines. Rows are read one at a time, so that the export needs little memory. */
import type { ConversationRecord, StoredResponse } from "../records.ts";

/** A chunk ends with the row that reaches it. */
const CHUNK_CHARACTERS = 65_536;

interface ExportedResponse extends Pick<StoredResponse, "id" | "owner" | "json"> {
	input: Iterable<string>;
	output: Iterable<string>;
}

interface ExportSource {
	/** The first response after an id, in the order of their ids. */
	response(after: string): ExportedResponse | undefined;
	/** Some conversations after an id, in the order of their ids. */
	conversations(after: string): (ConversationRecord & { owner: string })[];
	/** The items of a conversation. */
	items(conversation: string): Iterable<string>;
}

/**
 * `{"type":"response","owner","response","input"}`, `{"type":"conversation","owner","conversation"}` and, after its conversation,
 * `{"type":"conversation_item","conversation","item"}`.
 */
export function exportLines(source: ExportSource): ReadableStream<Uint8Array> {
	const parts = partsOf(source);
	const encoder = new TextEncoder();
	return new ReadableStream(
		{
			// RPC sends only streams of bytes.
			type: "bytes",
			pull(controller: ReadableByteStreamController) {
				let text = "";
				while (text.length < CHUNK_CHARACTERS) {
					const { done, value } = parts.next();
					if (done) break;
					text += value;
				}
				if (text === "") controller.close();
				else controller.enqueue(encoder.encode(text));
			},
		},
		{ highWaterMark: 0 },
	);
}

function* partsOf(source: ExportSource): Generator<string> {
	for (let response = source.response(""); response; response = source.response(response.id)) {
		const { input, json, output, owner } = response;
		yield `{"type":"response","owner":${JSON.stringify(owner)},"response":${json.slice(0, -1)},"output":[`;
		yield* separated(output);
		yield `]},"input":[`;
		yield* separated(input);
		yield "]}\n";
	}
	for (let after = ""; ; ) {
		const page = source.conversations(after);
		for (const conversation of page) yield* conversationLines(conversation, source);
		const last = page.at(-1);
		if (!last) return;
		after = last.id;
	}
}

function* conversationLines(
	{ id, owner, createdAt, metadata }: ConversationRecord & { owner: string },
	source: ExportSource,
): Generator<string> {
	const conversation = { id, object: "conversation", created_at: Math.floor(createdAt / 1000) };
	yield `{"type":"conversation","owner":${JSON.stringify(owner)},"conversation":${JSON.stringify({ ...conversation, metadata: JSON.parse(metadata) })}}\n`;
	for (const item of source.items(id))
		yield `{"type":"conversation_item","conversation":${JSON.stringify(id)},"item":${item}}\n`;
}

function* separated(items: Iterable<string>): Generator<string> {
	let separator = "";
	for (const item of items) {
		yield separator + item;
		separator = ",";
	}
}
