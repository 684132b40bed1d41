/** The table of the items, and what its rows have in common. */
import type { ItemRecord } from "../records.ts";

/**
 * Written when a response ends, and when items are added to a conversation. `held`: 1 while the item's response exists. `reference`: 1
 * if `id` and `owner` are those of an earlier row, which this one stands for. A row dies when it has neither a response nor a conversation.
 */
const ITEMS = `CREATE TABLE IF NOT EXISTS items (
	seq INTEGER PRIMARY KEY,
	bytes INTEGER NOT NULL,
	id TEXT NOT NULL,
	owner TEXT NOT NULL,
	reference INTEGER NOT NULL,
	held INTEGER NOT NULL,
	conversation TEXT,
	json TEXT NOT NULL
)`;
const INDEX =
	"CREATE INDEX IF NOT EXISTS items_by_conversation ON items (conversation, seq) WHERE conversation IS NOT NULL";

/** Callers choose ids, so an id may have many rows: their JSON is read only of the row that is meant. */
const BY_OWNER = `CREATE INDEX items_by_owner ON items (id, reference, owner);
DROP INDEX IF EXISTS items_by_id`;

/**
 * Before the index by owner, a reference stood for the latest item with its id, and its row had the owner that wrote it. It gets the
 * owner of its item, unless that owner has one.
 */
const OWNERS_OF_REFERENCES = `UPDATE items SET owner = (SELECT target.owner FROM items AS target WHERE target.seq = earlier.target)
FROM (
	SELECT seq, max(iif(reference, NULL, seq)) OVER (PARTITION BY id ORDER BY seq) AS target FROM items
) AS earlier
WHERE items.seq = earlier.seq AND items.reference = 1 AND earlier.target IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM items AS own
	WHERE own.id = items.id AND own.reference = 0 AND own.owner = items.owner AND own.seq < items.seq
)`;

export function createItems(sql: SqlStorage): void {
	sql.exec(`${ITEMS}; ${INDEX}`);
	if (sql.exec("SELECT name FROM sqlite_master WHERE name = 'items_by_owner'").toArray().length > 0) return;
	sql.exec(`${BY_OWNER}; ${OWNERS_OF_REFERENCES}`);
}

/** Counted for a row, in addition to its JSON. */
export const ROW_BYTES = 256;

/** The stored bytes of items. */
export const itemBytes = (items: readonly ItemRecord[]): number =>
	items.reduce((sum, { json }) => sum + Buffer.byteLength(json) + ROW_BYTES, 0);

/** Shorter items have no other rows. */
export const LONG_BYTES = 500_000;

export const jsonBytes = ({ bytes }: Pick<ItemPlace, "bytes">): number => bytes - ROW_BYTES;

export const textKey = (seq: number): string => `items/${seq}`;

/** A row without its JSON. */
export interface ItemPlace extends Record<string, SqlStorageValue> {
	seq: number;
	bytes: number;
	id: string;
	owner: string;
	reference: number;
}

export const PLACE = "seq, bytes, id, owner, reference";

/** Consecutive rows. */
export interface ItemRange {
	first: number;
	last: number;
}

/** Of deleted rows. */
export interface Freed {
	bytes: number;
	items: number;
}

/** Of the rows, or of those of a conversation. */
export const conditionOf = (rows: ItemRange | string): [condition: string, values: (string | number)[]] =>
	typeof rows === "string" ? ["conversation = ?", [rows]] : ["seq BETWEEN ? AND ?", [rows.first, rows.last]];
