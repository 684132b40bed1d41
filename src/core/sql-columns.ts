/** Adds the columns that a table of an earlier version lacks. `columns`: their declarations in SQL. All names must be constants. */
export function addColumns(sql: SqlStorage, table: string, columns: Readonly<Record<string, string>>): void {
	const { columnNames } = sql.exec(`SELECT * FROM ${table} LIMIT 0`);
	for (const [name, declaration] of Object.entries(columns))
		if (!columnNames.includes(name)) sql.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${declaration}`);
}
