/** The last responses of a websocket that are not stored: a later frame of the connection continues them. */
import { isRecord } from "../core/json.ts";
import { present } from "../core/present.ts";
import { bufferedBytes } from "../core/process-counts.ts";
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

/** What an item takes, and how many responses have it. */
interface HeldItem {
	characters: number;
	uses: number;
}

/** Its characters are among the process's buffered bytes. Items that several responses have count once. */
export class ConnectionMemory {
	readonly #account: string;
	/** By id. The oldest is first. */
	readonly #responses = new Map<string, Remembered>();
	readonly #held = new Map<unknown, HeldItem>();
	readonly #maxCharacters: number;
	#isClosed = false;

	/** `maxCharacters`: of the JSON of one response with its whole input. */
	constructor(account: string, maxCharacters: number) {
		this.#account = account;
		this.#maxCharacters = maxCharacters;
	}

	/** Forgets everything, for good. */
	close(): void {
		this.#isClosed = true;
		for (const id of this.#responses.keys()) this.#forget(id);
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
		if (this.#isClosed || !this.#hold(items)) return;
		this.#responses.set(id, { base: present({ conversation, previous_response_id }), items });
		if (this.#responses.size > MAX_REMEMBERED) this.#forgetOldest();
	}

	/** Returns whether there is room. Older responses make some. */
	#hold(items: readonly unknown[]): boolean {
		const sizes = new Map(items.map((item) => [item, this.#charactersOf(item)]));
		const all = sum(sizes.values());
		if (all > this.#maxCharacters) return false;
		const added = () => sum([...sizes].map(([item, size]) => (this.#held.has(item) ? 0 : size)));
		while (!bufferedBytes.takeIfFree(this.#account, added())) {
			if (this.#forgetOldest()) continue;
			bufferedBytes.refuse();
			return false;
		}
		for (const [item, characters] of sizes) {
			const held = this.#held.get(item) ?? { characters, uses: 0 };
			held.uses++;
			this.#held.set(item, held);
		}
		return true;
	}

	#charactersOf(item: unknown): number {
		return this.#held.get(item)?.characters ?? JSON.stringify(item).length;
	}

	/** Returns whether there was one. */
	#forgetOldest(): boolean {
		const [oldest] = this.#responses.keys();
		if (oldest === undefined) return false;
		this.#forget(oldest);
		return true;
	}

	#forget(id: string): void {
		for (const item of new Set(this.#responses.get(id)?.items)) {
			const held = this.#held.get(item);
			if (!held || --held.uses > 0) continue;
			this.#held.delete(item);
			bufferedBytes.release(this.#account, held.characters);
		}
		this.#responses.delete(id);
	}
}

const sum = (numbers: Iterable<number>): number => {
	let total = 0;
	for (const number of numbers) total += number;
	return total;
};
