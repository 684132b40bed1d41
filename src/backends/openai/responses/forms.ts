/** Replies of the Responses API, their items and events, in the forms that proxies and copies of it send, as the API's own. */
import { isRecord } from "../../../core/json.ts";
import { own } from "../../../core/own.ts";

/** An item without a type is a call, or a message. */
export function usualItem(sent: unknown): unknown {
	if (typeof sent === "string") return { type: "message", content: sent };
	if (!isRecord(sent) || typeof sent.type === "string") return sent;
	return { ...sent, type: typeof sent.name === "string" ? "function_call" : "message" };
}

/** A response whose output is a text or one item, or that has only the text of SDKs, or is in `response`. */
export function usualResponse(sent: unknown): unknown {
	if (!isRecord(sent)) return sent;
	if (isRecord(sent.response) && sent.output === undefined) return usualResponse(sent.response);
	const { output, output_text } = sent;
	const isEmpty = output === undefined || output === null || (Array.isArray(output) && output.length === 0);
	if (isEmpty && typeof output_text === "string" && output_text !== "")
		return { ...sent, output: [usualItem(output_text)] };
	return isRecord(output) || typeof output === "string" ? { ...sent, output: [usualItem(output)] } : sent;
}

/** Names of events that others have for the API's. */
const TYPES: Readonly<Record<string, string>> = { "response.done": "response.completed" };

/** An event whose type is its name alone, or whose arguments are an object. */
export function usualEvent(sent: unknown, name: string | undefined): unknown {
	if (!isRecord(sent)) return sent;
	const type = typeof sent.type === "string" ? sent.type : name;
	const usual = own(TYPES, type) ?? type;
	const hasObject = isRecord(sent.arguments);
	if (usual === sent.type && !hasObject) return sent;
	return { ...sent, type: usual, ...(hasObject && { arguments: JSON.stringify(sent.arguments) }) };
}

/** The places of the items of a stream whose events name them by their ids alone. */
export class ItemPlaces {
	readonly #places = new Map<string, number>();
	/** A text came without any place. */
	hasUnplaced = false;

	/** The event with its place among the items. */
	placed<Event extends Sent>(event: Event): Event {
		const id = event.item_id ?? event.item?.id;
		if (typeof event.output_index === "number") {
			if (typeof id === "string") this.#places.set(id, event.output_index);
			return event;
		}
		if (typeof id !== "string") {
			this.hasUnplaced ||= typeof event.delta === "string";
			return event;
		}
		const place = this.#places.get(id) ?? this.#places.size;
		this.#places.set(id, place);
		return { ...event, output_index: place };
	}
}

interface Sent {
	output_index?: number | null | undefined;
	item_id?: unknown;
	item?: { id?: string | null | undefined } | null | undefined;
	delta?: unknown;
}
