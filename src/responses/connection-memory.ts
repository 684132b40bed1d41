/** The last responses of a websocket that are not stored: a later frame of the connection continues them. */
import { isRecord } from "../core/json.ts";
import { present } from "../core/present.ts";
import { responseObject } from "../dialects/responses/reply.ts";
import { newId } from "./ids.ts";

type Fields = Record<string, unknown>;

/** Older ones are forgotten. */
const MAX_REMEMBERED = 8;

/** `base`: what the response itself continues, in the store of the account. */
interface Remembered {
	base: Fields;
	/** Its own input and output. */
	items: unknown[];
}

const itemsOf = (input: unknown): unknown[] => {
	if (Array.isArray(input)) return input;
	return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : [];
};

export class ConnectionMemory {
	/** By id. The oldest is first. */
	readonly #responses = new Map<string, Remembered>();
	readonly #maxCharacters: number;

	/** `maxCharacters`: of the JSON of one response with its whole input. */
	constructor(maxCharacters: number) {
		this.#maxCharacters = maxCharacters;
	}

	/** The fields with the remembered input, if they continue a remembered response. */
	continued(fields: Fields): Fields {
		const { previous_response_id: previous, ...own } = fields;
		const before = typeof previous === "string" ? this.#responses.get(previous) : undefined;
		if (!before) return fields;
		return { ...before.base, ...present(own), input: [...before.items, ...itemsOf(fields.input)] };
	}

	/** `fields`: of the request, as {@link continued} returns them. */
	remember(fields: Fields, response: unknown): void {
		if (fields.store !== false || !isRecord(response) || typeof response.id !== "string") return;
		this.#add(response.id, fields, [...itemsOf(fields.input), ...itemsOf(response.output)]);
	}

	/** A response without output. */
	prepare(fields: Fields, { now, uuid }: { now(): number; uuid(): string }): Fields {
		const at = now();
		const context = { inputs: fields, model: { id: fields.model }, now: at };
		const id = newId("resp", uuid);
		this.#add(id, fields, itemsOf(fields.input));
		return { ...responseObject(context as never, { status: "completed", output: [] }), id };
	}

	#add(id: string, { conversation, previous_response_id }: Fields, items: unknown[]): void {
		if (JSON.stringify(items).length > this.#maxCharacters) return;
		this.#responses.set(id, { base: present({ conversation, previous_response_id }), items });
		for (const oldest of this.#responses.keys()) {
			if (this.#responses.size <= MAX_REMEMBERED) return;
			this.#responses.delete(oldest);
		}
	}
}
