/** The named fields, in this order. Fields that the object does not have are `undefined`. */
export function pick<From extends object, Name extends keyof From>(
	from: From,
	...names: readonly Name[]
): Pick<From, Name> {
	const picked: Partial<Pick<From, Name>> = {};
	for (const name of names) picked[name] = from[name];
	return picked as Pick<From, Name>;
}
