/** The conversations of an account. A part of the `ResponseStore` object. */
import { RpcTarget } from "cloudflare:workers";
import type {
	ConversationRecord,
	Found,
	ItemRecord,
	ItemsPage,
	ItemsQuery,
	Saved,
	Scope,
	StoreBounds,
} from "../records.ts";
import { itemBytes } from "./item-rows.ts";
import type { StoreTables } from "./store-tables.ts";

export class Conversations extends RpcTarget {
	readonly #tables: StoreTables;

	constructor(tables: StoreTables) {
		super();
		this.#tables = tables;
	}

	create(
		record: ConversationRecord,
		owner: string,
		{ items, bounds }: { items: readonly ItemRecord[]; bounds: StoreBounds },
	): Saved {
		const { conversations, usage } = this.#tables;
		const why = this.#tables.fullness({ bytes: itemBytes(items), rows: 1 }, bounds);
		if (why) return { ok: false, why };
		conversations.insert(record, owner);
		usage.conversations++;
		this.#add(items, owner, record.id);
		return { ok: true };
	}

	get(id: string, scope: Scope): Found<ConversationRecord> {
		return this.#tables.conversations.find(id, scope);
	}

	update(id: string, metadata: string, scope: Scope): Found<ConversationRecord> {
		const found = this.get(id, scope);
		if (!found.ok) return found;
		this.#tables.conversations.update(id, metadata);
		return { ok: true, value: { ...found.value, metadata } };
	}

	/** Deletes a conversation, and its items that no response has. */
	delete(id: string, scope: Scope): Found<true> {
		const found = this.get(id, scope);
		if (!found.ok) return found;
		this.#tables.conversations.delete(id);
		this.#tables.usage.conversations--;
		this.#tables.free(this.#tables.items.leave(id));
		return { ok: true, value: true };
	}

	addItems(
		id: string,
		items: readonly ItemRecord[],
		{ scope, bounds }: { scope: Scope; bounds: StoreBounds },
	): Found<Saved> {
		const found = this.get(id, scope);
		if (!found.ok) return found;
		const why = this.#tables.fullness({ bytes: itemBytes(items), rows: 0 }, bounds);
		if (why) return { ok: true, value: { ok: false, why } };
		this.#add(items, scope.owner, id);
		return { ok: true, value: { ok: true } };
	}

	#add(items: readonly ItemRecord[], owner: string, conversation: string): void {
		const { bytes } = this.#tables.items.insert(items, { owner, conversation, held: false });
		this.#tables.usage.items += items.length;
		this.#tables.usage.bytes += bytes;
	}

	/** `undefined`: there is no item `after`, also none that was deleted in the last hour. */
	items(id: string, query: ItemsQuery, scope: Scope): Found<ItemsPage | undefined> {
		const found = this.get(id, scope);
		return found.ok ? this.#tables.items.page(id, query) : found;
	}

	item(id: string, item: string, scope: Scope): Found<string> {
		const found = this.get(id, scope);
		if (!found.ok) return found;
		const json = this.#tables.items.inConversation(id, item);
		return json === undefined
			? { ok: false, missing: { kind: "item", id: item } }
			: { ok: true, value: json };
	}

	/** Returns the conversation. */
	deleteItem(id: string, item: string, scope: Scope): Found<ConversationRecord> {
		const found = this.item(id, item, scope);
		if (!found.ok) return found;
		this.#tables.free(this.#tables.items.leaveOne(id, item, Date.now()));
		return this.get(id, scope);
	}
}
