/** Deletes everything that a Durable Object has. */

/** The answer to the call comes first. */
const END_AFTER_MS = 10;

/** The names of an object's tables. */
export const tablesOf = ({ sql }: Pick<DurableObjectStorage, "sql">): string[] =>
	sql
		.exec<{ name: string }>(
			"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
		)
		.toArray()
		.map(({ name }) => name);

interface Erasure {
	/** Tables whose rows each start of the object writes. */
	constant?: readonly string[];
	/** Rows or objects that the caller has deleted before. */
	deleted?: number;
}

/**
 * Deletes all rows and the alarm, and then ends the object: what it does at this time fails, and its next call starts an empty one. An object
 * that has nothing is left alone. Returns the number of rows, with `deleted`.
 */
export async function eraseObject(
	context: Pick<DurableObjectState, "storage" | "abort">,
	{ constant = [], deleted = 0 }: Erasure = {},
): Promise<number> {
	const { storage } = context;
	const rows = tablesOf(storage)
		.filter((name) => !constant.includes(name))
		.map((name) => storage.sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`).one().rows)
		.reduce((sum, count) => sum + count, deleted);
	// The runtime stores an alarm with the name of its object.
	const hasAlarm = (await storage.getAlarm()) !== null;
	if (rows === 0 && !hasAlarm) return 0;
	await storage.deleteAlarm();
	await storage.deleteAll();
	await storage.sync();
	void scheduler.wait(END_AFTER_MS).then(() => context.abort("The data of the account were deleted"));
	return Math.max(1, rows);
}
