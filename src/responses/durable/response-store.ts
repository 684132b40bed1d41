/**
 * The `ResponseStore` object: the stored responses, items and conversations of one account, and its responses in the background. A
 * response and its items are written in one commit.
 */
import { DurableObject } from "cloudflare:workers";
import { eraseObject } from "../../core/erase-object.ts";
import type { Queue } from "../../storage/queue/work.ts";
import { MAX_CONTEXT_BYTES } from "../context-bytes.ts";
import type {
	ContextQuery,
	Found,
	ItemsPage,
	ItemsQuery,
	ReferencedItems,
	ResponseRecord,
	ResponseStoreUsage,
	Saved,
	Scope,
	StoreBounds,
	StoredResponse,
	StoreRoom,
} from "../records.ts";
import { BackgroundRuns } from "./background-runs.ts";
import { Conversations } from "./conversations.ts";
import { exportLines } from "./export-lines.ts";
import { jsonBytes } from "./item-rows.ts";
import { inputOf, outputOf } from "./response-table.ts";
import { StoreTables } from "./store-tables.ts";

export abstract class ResponseStoreObject extends DurableObject {
	readonly #tables: StoreTables;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#tables = new StoreTables(ctx.storage);
	}

	background(): BackgroundRuns {
		return new BackgroundRuns(this.#tables);
	}

	conversations(): Conversations {
		return new Conversations(this.#tables);
	}

	usage(): ResponseStoreUsage {
		return { ...this.#tables.usage };
	}

	room(bounds: StoreBounds): StoreRoom {
		return this.#tables.room(bounds);
	}

	/** The items that a request refers to. A response that is continued is kept longer. */
	context(query: ContextQuery, scope: Scope, { retentionMs }: StoreBounds): Found<ReferencedItems> {
		const before = this.#tables.before(query, scope, retentionMs);
		if (!before.ok) return before;
		let bytes = before.value.reduce((sum, json) => sum + Buffer.byteLength(json), 0);
		const items: ReferencedItems["items"] = new Map();
		const required = new Set(query.items);
		for (const id of new Set([...required, ...(query.optional ?? [])])) {
			const found = this.#tables.items.find(id, scope);
			if (!found.ok && required.has(id)) return found;
			if (!found.ok) continue;
			bytes += jsonBytes(found.value);
			if (bytes > MAX_CONTEXT_BYTES) return { ok: false, missing: { kind: "item", id, tooLarge: true } };
			items.set(id, { json: this.#tables.items.jsonOf(found.value), owner: found.value.owner });
		}
		return { ok: true, value: { before: before.value, items } };
	}

	/** Stores a response that has ended. It may exceed the bound of bytes: its engine was called while there was room. */
	async save(record: ResponseRecord, bounds: StoreBounds): Promise<Saved> {
		const why = this.#tables.fullness({ bytes: 1, rows: 1 }, bounds);
		if (why) return { ok: false, why };
		const { expiresAt } = this.#tables.write(record, bounds, { background: 0 });
		await this.#tables.scheduleAt(expiresAt);
		return { ok: true };
	}

	get(id: string, scope: Scope): Found<StoredResponse> {
		const found = this.#tables.responses.find(id, scope, Date.now());
		return found.ok ? { ok: true, value: this.#tables.stored(found.value) } : found;
	}

	/** Deletes a response. Its run in the background ends. */
	delete(id: string, scope: Scope): Found<true> {
		const found = this.#tables.responses.find(id, scope, Date.now());
		if (!found.ok) return found;
		this.#tables.delete(found.value);
		return { ok: true, value: true };
	}

	/** The items of the whole input: those of the responses that it continues, and its own. `undefined`: it has no item `after`. */
	inputItems(id: string, query: ItemsQuery, scope: Scope): Found<ItemsPage | undefined> {
		const now = Date.now();
		const { items, responses } = this.#tables;
		const found = responses.find(id, scope, now);
		if (!found.ok) return found;
		const ranges = responses
			.known(found.value, scope, now)
			.flatMap((row) => (row.id === id ? [inputOf(row)] : [inputOf(row), outputOf(row)]));
		return items.pageOf(ranges, query);
	}

	/** All responses and conversations with their items, one JSON text in each line. */
	export(): ReadableStream<Uint8Array> {
		const { conversations, items, responses } = this.#tables;
		return exportLines({
			response(after) {
				const row = responses.after(after);
				return row && { ...row, input: items.each(inputOf(row)), output: items.each(outputOf(row)) };
			},
			conversations: (after) => conversations.after(after),
			items: (id) => items.each(id),
		});
	}

	/** Deletes everything. Returns the number of rows. */
	erase(): Promise<number> {
		return eraseObject(this.ctx);
	}

	/** The durable queue. The Worker's class has it (`index.ts`). */
	protected abstract queue(): Pick<Queue, "enqueue">;

	/** Deletes what has expired, and puts responses into the queue that are not there. */
	override async alarm(): Promise<void> {
		const now = Date.now();
		this.#tables.deleteExpired(now);
		await this.#tables.enqueueAgain(now, (items) => this.queue().enqueue(items));
		await this.#tables.schedule();
	}
}
