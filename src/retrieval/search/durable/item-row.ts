/** The rows of items. */
import type { ItemStatus, NewItem, SearchItem } from "../records.ts";

/** Written by uploads and by the durable work. `json`: the fields of `NewItem`. A row dies when the item is deleted. */
export const ITEMS = `CREATE TABLE IF NOT EXISTS items (
	id TEXT PRIMARY KEY,
	key TEXT NOT NULL UNIQUE,
	status TEXT NOT NULL,
	revision INTEGER NOT NULL,
	json TEXT NOT NULL,
	error TEXT,
	chunks INTEGER,
	bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	seen_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL,
	job TEXT
) WITHOUT ROWID; CREATE INDEX IF NOT EXISTS items_by_status ON items (status)`;

export interface ItemColumns extends Record<string, SqlStorageValue> {
	id: string;
	key: string;
	status: string;
	revision: number;
	json: string;
	error: string | null;
	chunks: number | null;
	created_at: number;
	seen_at: number;
	modified_at: number;
}

export type ItemFields = Omit<NewItem, "key">;

export function itemOf(row: ItemColumns): SearchItem {
	const { caller: _, ...fields } = JSON.parse(row.json) as ItemFields;
	return {
		...fields,
		id: row.id,
		key: row.key,
		status: row.status as ItemStatus,
		revision: row.revision,
		chunks: row.chunks,
		createdAt: row.created_at,
		seenAt: row.seen_at,
		modifiedAt: row.modified_at,
		...(row.error !== null && { error: row.error }),
	};
}
