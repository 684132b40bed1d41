/** Mutations one after another, of vectors that no other lane writes. */
import type { VectorClient } from "./vector-client.ts";

const IDS = 60;
/** Vectors of a mutation. */
const BATCH = 8;
const SHARE_OF_DELETIONS = 0.2;

export class Lane {
	/** Mutations that were not confirmed. */
	unconfirmed = 0;
	readonly #number: number;
	readonly #client: VectorClient;
	/** The texts of the vectors, after the last mutation that was confirmed. */
	#texts = new Map<string, string>();
	/** The same after the mutation that was sent last, if it was not confirmed. */
	#sent: Map<string, string> | undefined;
	#version = 0;

	constructor(number: number, client: VectorClient) {
		this.#number = number;
		this.#client = client;
	}

	get size(): number {
		return this.#texts.size;
	}

	async mutate(): Promise<void> {
		const version = ++this.#version;
		const first = Math.floor(Math.random() * IDS);
		const ids = Array.from({ length: BATCH }, (_, at) => `lane-${this.#number}-${(first + at) % IDS}`);
		const next = new Map(this.#texts);
		if (Math.random() < SHARE_OF_DELETIONS) {
			for (const id of ids) next.delete(id);
			await this.#send(next, () => this.#client.delete(ids));
			return;
		}
		const texts = ids.map((id) => `${id} version ${version}`);
		const values = await this.#client.embed(texts);
		for (const [at, id] of ids.entries()) next.set(id, texts[at] ?? "");
		await this.#send(next, () =>
			this.#client.upsert(ids.map((id, at) => ({ id, values: values[at], metadata: { text: texts[at] } }))),
		);
	}

	async #send(next: Map<string, string>, send: () => Promise<void>): Promise<void> {
		this.#sent = next;
		await send();
		this.#texts = next;
		this.#sent = undefined;
	}

	/** Compares the vectors of this lane with what it has written. Returns the faults. */
	audit(found: ReadonlyMap<string, string>): string[] {
		const own = new Map([...found].filter(([id]) => id.startsWith(`lane-${this.#number}-`)));
		const sent = this.#sent;
		this.#sent = undefined;
		if (sent) this.unconfirmed++;
		if (isEqual(own, this.#texts)) return [];
		if (sent && isEqual(own, sent)) {
			this.#texts = sent;
			return [];
		}
		const wrong = [...new Set([...own.keys(), ...this.#texts.keys()])].filter(
			(id) => own.get(id) !== this.#texts.get(id),
		);
		const faults = wrong.map(
			(id) => `${id}: found ${own.get(id)}, expected ${this.#texts.get(id)} or ${sent?.get(id)}`,
		);
		this.#texts = own;
		return faults;
	}
}

const isEqual = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
	a.size === b.size && [...a].every(([id, text]) => b.get(id) === text);
