/** Replays stored events of a response, and continues with the new ones. */
import { concat } from "../../media/bytes.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import { sequenceOf } from "../event-text.ts";
import type { EventRow } from "./event-table.ts";

interface EventSource {
	/** The first row to read. */
	start: number;
	/** Some rows from a row on, in order. */
	rows(from: number): readonly EventRow[];
	/** Whether further events can come. */
	isLive(): boolean;
	/** Resolves when the events or the state may have changed. */
	change(): Promise<void>;
}

/** The events with a number above `after`. */
export function replay(after: number, source: EventSource): ReadableStream<Uint8Array> {
	let next = source.start;
	let isCancelled = false;
	return new ReadableStream(
		{
			// RPC sends only streams of bytes.
			type: "bytes",
			async pull(controller: ReadableByteStreamController) {
				while (!isCancelled) {
					// Read before the rows: the last events are written in the same step as the end.
					const isLive = source.isLive();
					const rows = source.rows(next);
					next = (rows.at(-1)?.row ?? next - 1) + 1;
					const bytes = concat(rows.map(({ content }) => eventsAfter(new Uint8Array(content), after)));
					if (bytes.length > 0) return controller.enqueue(bytes);
					if (rows.length > 0) continue;
					if (!isLive) return controller.close();
					await source.change();
				}
			},
			cancel() {
				isCancelled = true;
			},
		},
		{ highWaterMark: 0 },
	);
}

function eventsAfter(content: Uint8Array, after: number): Uint8Array {
	const { bytes, ends } = new EventSplitter().push(content);
	let start = 0;
	for (const end of ends) {
		const sequence = sequenceOf(bytes.subarray(start, end));
		if (sequence === undefined || sequence > after) break;
		start = end;
	}
	return bytes.subarray(start);
}
