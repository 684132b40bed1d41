/** Brings forward the state of versions whose responses had a table with rowids, and all items rows of their own. */
import type { ExpiryTable } from "./expiry-table.ts";

/** The items stay rows of the table `items`. */
const MOVE = `INSERT INTO responses (key, holder, id, owner, bytes, items, status, previous, conversation, created_at, expires_at, background,
	input_from, input_to, output_from, output_to, text)
SELECT substr(id, instr(id, '_') + 1) || '_' || substr(id, 1, instr(id, '_') - 1), '', id, owner, bytes, 0, status, previous, conversation,
	created_at, expires_at, background, input_from, input_to, output_from, output_to, json
FROM earlier_responses ORDER BY 1`;

/** `create`: creates the table of responses, unless it exists. */
export function moveEarlierRows(
	sql: SqlStorage,
	{ create, expiries }: { create: () => void; expiries: ExpiryTable },
): void {
	const columns = sql.exec<{ name: string }>("SELECT name FROM pragma_table_info('responses')").toArray();
	if (!columns.some(({ name }) => name === "json")) {
		create();
		return;
	}
	sql.exec("ALTER TABLE responses RENAME TO earlier_responses");
	create();
	sql.exec(`${MOVE}; DROP TABLE earlier_responses`);
	const moved = sql.exec<{ key: string; expiresAt: number }>(
		"SELECT key, expires_at AS expiresAt FROM responses",
	);
	for (const { key, expiresAt } of moved) expiries.add(key, expiresAt);
}
