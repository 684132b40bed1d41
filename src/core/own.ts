/**
 * The value that a table itself has for a name. For names that a caller or an engine chooses: `table[name]` also finds what every object
 * inherits, such as `constructor`. `undefined`: the table has no such name.
 */
export const own = <Value>(
	table: Readonly<Record<string, Value>>,
	name: string | undefined,
): Value | undefined => (name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined);
