/** Copies of objects with some of their fields. */

type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> };

/** The fields that have a value. In OpenAI's schema nearly every field may be `null`, which means absent. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
	const kept: Partial<Fields> = {};
	for (const name of Object.keys(fields) as (keyof Fields)[]) {
		const value = fields[name];
		if (value !== undefined && value !== null) kept[name] = value;
	}
	return kept as Present<Fields>;
}

/** The named fields that have a value, in this order. */
export function pick<From extends object, Name extends keyof From>(
	from: From,
	...names: readonly Name[]
): Pick<From, Name> {
	const picked: Partial<Pick<From, Name>> = {};
	for (const name of names) {
		const value = from[name];
		if (value !== undefined) picked[name] = value;
	}
	return picked as Pick<From, Name>;
}
