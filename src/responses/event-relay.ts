/**
 * Relays the events of a response that is stored. The events that contain the response object get its stored identity; the others pass
 * unchanged. The last event is sent when the response is durable.
 */
import { type AiError, toAiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import { responsesError } from "../dialects/responses/errors.ts";
import { concat } from "../media/bytes.ts";
import { EventSplitter } from "../streams/event-splitter.ts";
import type { Source } from "../streams/pulled-stream.ts";
import { dataOf, eventOf, renumbered, typeOf } from "./event-text.ts";
import { identified, type ResponseIdentity, type ResponseJson, shown, shownItem } from "./response-object.ts";

const STATES = new Set(["response.created", "response.queued", "response.in_progress"]);
const ENDS = new Set(["response.completed", "response.incomplete", "response.failed"]);
const ITEMS = new Set(["response.output_item.added", "response.output_item.done"]);

interface RelayOptions {
	identity: ResponseIdentity;
	requestId: string;
	/** Added to the number of each event. */
	firstSequence?: number;
	/** Fires when the caller has left: a failure after it is the end of the engine's call, which the caller's end has caused. */
	signal?: AbortSignal;
	/** Epoch milliseconds. */
	now(): number;
	/** Resolves when the response is durable. */
	save(response: ResponseJson): Promise<void>;
	/** The failure of `save`. */
	failed(error: AiError): void;
	/** The caller left before the end. `response`: as far as it is known, with the items that are complete. */
	left(response: ResponseJson): void;
}

/** A source of complete events. It takes over `events`. */
export class EventRelay implements Source<Uint8Array> {
	readonly #events: Source<Uint8Array>;
	readonly #options: RelayOptions;
	readonly #splitter = new EventSplitter();
	readonly #items: unknown[] = [];
	/** The last response object. */
	#response: ResponseJson | undefined;
	#lastSequence = -1;
	#hasEnded = false;

	constructor(events: Source<Uint8Array>, options: RelayOptions) {
		this.#events = events;
		this.#options = options;
	}

	async pull(): Promise<Uint8Array | undefined> {
		for (;;) {
			const chunk = await this.#events.pull();
			if (chunk === undefined) return this.#hasEnded ? undefined : this.#cut();
			const { bytes, ends } = this.#splitter.push(chunk);
			const out: Uint8Array[] = [];
			let start = 0;
			for (const end of ends) {
				const event = this.#relayed(bytes.subarray(start, end));
				// Most events pass without a promise.
				out.push(event instanceof Promise ? await event : event);
				start = end;
			}
			const [only] = out;
			if (only) return out.length === 1 ? only : concat(out);
		}
	}

	async cancel(reason: unknown): Promise<void> {
		const ended = this.#hasEnded;
		this.#hasEnded = true;
		await this.#events.cancel(reason);
		if (ended || !this.#response) return;
		const { identity, left, now } = this.#options;
		left(identified(this.#soFar("cancelled"), identity, now()));
	}

	/** The response with the items that are complete. */
	#soFar(status: "cancelled" | "failed"): ResponseJson {
		return { ...this.#response, output: this.#items.filter(Boolean), status };
	}

	#relayed(event: Uint8Array): Uint8Array | Promise<Uint8Array> {
		const type = typeOf(event);
		const added = this.#options.firstSequence ?? 0;
		if (type === undefined || !(STATES.has(type) || ENDS.has(type) || ITEMS.has(type)))
			return renumbered(event, added);
		const data = dataOf(event);
		if (!data) return event;
		if (typeof data.sequence_number === "number") {
			data.sequence_number += added;
			this.#lastSequence = data.sequence_number as number;
		}
		if (ITEMS.has(type)) return this.#item(data);
		const response = isRecord(data.response) ? data.response : {};
		return ENDS.has(type) ? this.#end(data, response) : this.#state(data, response);
	}

	#item(data: Record<string, unknown>): Uint8Array {
		const { item, output_index: index, type } = data;
		if (type === "response.output_item.done" && typeof index === "number") this.#items[index] = item;
		return eventOf({ ...data, item: shownItem(item, this.#options.identity.includesSeals) });
	}

	#state(data: Record<string, unknown>, response: ResponseJson): Uint8Array {
		const { identity, now } = this.#options;
		this.#response = identified(response, identity, now());
		return eventOf({ ...data, response: shown(this.#response, identity.includesSeals) });
	}

	async #end(data: Record<string, unknown>, engine: ResponseJson): Promise<Uint8Array> {
		const { identity, failed, now, requestId, save, signal } = this.#options;
		const isLeft = signal?.aborted === true && engine.status === "failed";
		const response = identified(isLeft ? this.#soFar("cancelled") : engine, identity, now());
		// From here on, a caller who leaves does not change the response.
		this.#hasEnded = true;
		try {
			await save(response);
			return eventOf({ ...data, response: shown(response, identity.includesSeals) });
		} catch (thrown) {
			const error = toAiError(thrown);
			failed(error);
			const unsaved = {
				...response,
				status: "failed",
				error: responsesError(error, requestId),
				store: false,
			};
			return eventOf({
				...data,
				type: "response.failed",
				response: shown(unsaved, identity.includesSeals),
			});
		}
	}

	/** The events have ended without an end of the response. */
	#cut(): Promise<Uint8Array> {
		const error = { code: "server_error", message: "The answer was interrupted" };
		const response = { ...this.#soFar("failed"), error };
		const sequence_number = this.#lastSequence + 1;
		return this.#end({ type: "response.failed", sequence_number }, response);
	}
}
