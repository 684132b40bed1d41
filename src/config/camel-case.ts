/** Settings have names in snake_case. The code has them in camelCase. */

type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
	? `${First}${Capitalize<CamelCase<Rest>>}`
	: Name;
type CamelCased<Fields> = {
	[Name in keyof Fields as CamelCase<Name>]: Exclude<Fields[Name], undefined>;
};

/** The fields that are set, by their names in camelCase. */
export function camelCased<Fields extends object>(fields: Fields): CamelCased<Fields> {
	const set = Object.entries(fields).filter(([, value]) => value !== undefined);
	return Object.fromEntries(set.map(([name, value]) => [camelName(name), value])) as CamelCased<Fields>;
}

const camelName = (name: string): string =>
	name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
