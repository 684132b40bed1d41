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
