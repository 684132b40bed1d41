/**
 * Contents in use by requests of this isolate: puts in progress, and reads of several pieces. The runtime may evict an object
 * between two calls of a slow request, so this table is outside the objects. When the process ends, the requests have ended too.
 */

/** A put without a call in this time has ended. */
const PUT_IDLE_MS = 10 * 60_000;
/** A read without a call in this time keeps a replaced content no longer. */
const READ_IDLE_MS = 60_000;

interface ContentUse {
	/** Bytes that a put has stored or announced. */
	bytes: number;
	endsAt: number;
}

/** By object id and content. */
const uses = new Map<string, Map<number, ContentUse>>();

export class LiveContents {
	readonly #id: string;

	constructor(objectId: string) {
		this.#id = objectId;
	}

	/** A put begins, or goes on. `added`: bytes that are counted from now on. */
	put(content: number, added: number): void {
		const bytes = added + (this.#table().get(content)?.bytes ?? 0);
		this.#table().set(content, { bytes, endsAt: Date.now() + PUT_IDLE_MS });
	}

	read(content: number): void {
		this.#table().set(content, { bytes: 0, endsAt: Date.now() + READ_IDLE_MS });
	}

	end(content: number): void {
		const table = uses.get(this.#id);
		table?.delete(content);
		if (table?.size === 0) uses.delete(this.#id);
	}

	/** When the use ends if no call follows. `undefined`: the content is not in use. */
	endOf(content: number): number | undefined {
		const endsAt = uses.get(this.#id)?.get(content)?.endsAt;
		if (endsAt === undefined || endsAt > Date.now()) return endsAt;
		this.end(content);
		return undefined;
	}

	/** Of all puts in progress. */
	get bytes(): number {
		const table = uses.get(this.#id);
		if (!table) return 0;
		let total = 0;
		for (const [content, use] of [...table]) if (this.endOf(content) !== undefined) total += use.bytes;
		return total;
	}

	#table(): Map<number, ContentUse> {
		let table = uses.get(this.#id);
		if (!table) {
			table = new Map();
			uses.set(this.#id, table);
		}
		return table;
	}
}
