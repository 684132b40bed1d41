/** Everything that an account has stored, as JSON lines. Each pull reads some rows, so that the export needs little memory. */
import type { ConversationRecord, ItemsPage, StoredResponse } from "../records.ts";

interface ExportSource {
	/** Some responses after an id, in the order of their ids. */
	responses(after: string): (StoredResponse & { input: string[] })[];
	/** Some conversations after an id, in the order of their ids. */
	conversations(after: string): (ConversationRecord & { owner: string })[];
	/** A page of the items of a conversation. */
	items(conversation: string, after: string | undefined): ItemsPage | undefined;
}

/**
 * `{"type":"response","owner","response","input"}`, `{"type":"conversation","owner","conversation"}` and, after its conversation,
 * `{"type":"conversation_item","conversation","item"}`.
 */
export function exportLines(source: ExportSource): ReadableStream<Uint8Array> {
	const lines = linesOf(source);
	const encoder = new TextEncoder();
	return new ReadableStream(
		{
			// RPC sends only streams of bytes.
			type: "bytes",
			pull(controller: ReadableByteStreamController) {
				const { done, value } = lines.next();
				if (done) controller.close();
				else controller.enqueue(encoder.encode(value));
			},
		},
		{ highWaterMark: 0 },
	);
}

function* linesOf(source: ExportSource): Generator<string> {
	for (let after = ""; ; ) {
		const page = source.responses(after);
		for (const { owner, json, input, output } of page) {
			const response = `${json.slice(0, -1)},"output":[${output.join(",")}]}`;
			yield `{"type":"response","owner":${JSON.stringify(owner)},"response":${response},"input":[${input.join(",")}]}\n`;
		}
		const last = page.at(-1);
		if (!last) break;
		after = last.id;
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
	for (let after: string | undefined; ; ) {
		const page = source.items(id, after);
		for (const item of page?.items ?? [])
			yield `{"type":"conversation_item","conversation":${JSON.stringify(id)},"item":${item}}\n`;
		if (!page?.hasMore) return;
		after = JSON.parse(page.items.at(-1) ?? "{}").id;
	}
}
