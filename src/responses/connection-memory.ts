/** The last responses of a websocket that are not stored: a later frame of the connection continues them. */
import { isRecord } from "../core/json.ts";
import { responseObject } from "../dialects/responses/reply.ts";
import { newId } from "./ids.ts";

type Fields = Record<string, unknown>;

/** Older ones are forgotten. */
const MAX_REMEMBERED = 8;

const itemsOf = (input: unknown): unknown[] => {
	if (Array.isArray(input)) return input;
	return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : [];
};

export class ConnectionMemory {
	/** The input and output of each response, by its id. The oldest is first. */
	readonly #items = new Map<string, unknown[]>();
	readonly #maxCharacters: number;

	/** `maxCharacters`: of the JSON of one response with its whole input. */
	constructor(maxCharacters: number) {
		this.#maxCharacters = maxCharacters;
	}

	/** The fields with the remembered input, if they continue a remembered response. */
	continued(fields: Fields): Fields {
		const { previous_response_id: previous, ...own } = fields;
		const before = typeof previous === "string" ? this.#items.get(previous) : undefined;
		return before ? { ...own, input: [...before, ...itemsOf(fields.input)] } : fields;
	}

	/** `fields`: of the request, with its whole input. */
	remember(fields: Fields, response: unknown): void {
		if (fields.store !== false || !isRecord(response) || typeof response.id !== "string") return;
		this.#add(response.id, [...itemsOf(fields.input), ...itemsOf(response.output)]);
	}

	/** A response without output. */
	prepare(fields: Fields, { now, uuid }: { now(): number; uuid(): string }): Fields {
		const at = now();
		const context = { inputs: fields, model: { id: fields.model }, now: at };
		const id = newId("resp", uuid);
		this.#add(id, itemsOf(fields.input));
		return { ...responseObject(context as never, { status: "completed", output: [] }), id };
	}

	#add(id: string, items: unknown[]): void {
		if (JSON.stringify(items).length > this.#maxCharacters) return;
		this.#items.set(id, items);
		for (const oldest of this.#items.keys()) {
			if (this.#items.size <= MAX_REMEMBERED) return;
			this.#items.delete(oldest);
		}
	}
}
