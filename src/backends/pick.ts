/** The named fields, in this order. Fields that the object does not have are `undefined`. */
export const pick = <From extends object, Name extends keyof From>(
	from: From,
	...names: Name[]
): Record<Name, unknown> =>
	Object.fromEntries(names.map((name) => [name, from[name]])) as Record<Name, unknown>;
