/**
 * Parts of an object: a method of the object returns an `RpcTarget`, whose methods are called. Its stub would live in the object until the
 * request ends, and the runtime warns of it, unless it is disposed.
 */

/** Calls a part, and disposes its stub. */
export async function released<Part extends object, Result>(
	part: Part & Partial<Disposable>,
	method: (part: Part) => Promise<Result>,
): Promise<Result> {
	try {
		return await method(part);
	} finally {
		part[Symbol.dispose]?.();
	}
}

type Method = (...parameters: unknown[]) => Promise<unknown>;

/** The methods of a part. Each call opens it and disposes its stub. */
export const releasedCalls = <Part extends object>(open: () => Part): Part =>
	new Proxy({} as Part, {
		get: (_, member) =>
			typeof member === "symbol"
				? undefined
				: (...parameters: unknown[]) =>
						released<object, unknown>(open(), (part) => {
							const method: Method = Reflect.get(part, member);
							return Reflect.apply(method, part, parameters);
						}),
	});
