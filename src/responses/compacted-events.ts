/** The events of a response whose first item is the compaction of its conversation. */
import { isRecord } from "../core/json.ts";
import { concat } from "../media/bytes.ts";
import { EventSplitter } from "../streams/event-splitter.ts";
import type { Source } from "../streams/pulled-stream.ts";
import { dataOf, eventOf } from "./event-text.ts";
import type { ResponseJson } from "./response-object.ts";

type Fields = Record<string, unknown>;

const ITEM_EVENTS = ["response.output_item.added", "response.output_item.done"] as const;

/** Takes over `events`. `add`: the response with the item and its usage. */
export class CompactedEvents implements Source<Uint8Array> {
	readonly #events: Source<Uint8Array>;
	readonly #item: object;
	readonly #add: (response: ResponseJson) => ResponseJson;
	readonly #splitter = new EventSplitter();
	#isAdded = false;

	constructor(events: Source<Uint8Array>, item: object, add: (response: ResponseJson) => ResponseJson) {
		this.#events = events;
		this.#item = item;
		this.#add = add;
	}

	async pull(): Promise<Uint8Array | undefined> {
		for (;;) {
			const chunk = await this.#events.pull();
			if (chunk === undefined) return undefined;
			const { bytes, ends } = this.#splitter.push(chunk);
			if (ends.length === 0) continue;
			let start = 0;
			const out = ends.map((end) => {
				const event = this.#changed(bytes.subarray(start, end));
				start = end;
				return event;
			});
			return concat(out);
		}
	}

	cancel(reason: unknown): Promise<void> {
		return this.#events.cancel(reason);
	}

	/** The item follows the first events, which have the response object, and is before all others. */
	#changed(event: Uint8Array): Uint8Array {
		const data = dataOf(event);
		if (!data) return event;
		const isStart = data.type === "response.created" || data.type === "response.in_progress";
		if (isStart && !this.#isAdded) return eventOf(data);
		const sequence = Number(data.sequence_number);
		const added = this.#isAdded ? [] : this.#itemEvents(sequence);
		this.#isAdded = true;
		return concat([...added, eventOf(this.#after(data, sequence))]);
	}

	#itemEvents(first: number): Uint8Array[] {
		return ITEM_EVENTS.map((type, index) =>
			eventOf({ type, sequence_number: first + index, output_index: 0, item: this.#item }),
		);
	}

	#after(data: Fields, sequence: number): Fields {
		const { output_index: index, response } = data;
		return {
			...data,
			sequence_number: sequence + ITEM_EVENTS.length,
			...(typeof index === "number" && { output_index: index + 1 }),
			...(isRecord(response) && { response: this.#add(response) }),
		};
	}
}
