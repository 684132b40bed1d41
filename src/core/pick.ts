/** The named fields, in this order. Fields that the object does not have are `undefined`. */
export const pick = <From extends object, Name extends keyof From>(
	from: From,
	...names: readonly Name[]
): Pick<From, Name> => Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<From, Name>;
