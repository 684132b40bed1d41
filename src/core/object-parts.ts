/**
 * Parts of a Durable Object: a method of the object returns an `RpcTarget`, whose methods are called. The stub of a part lives in the object
 * until the request ends, and the runtime warns of it, unless it is disposed.
 */

/** Calls a part, and disposes its stub. */
export async function callPart<Part extends object, Result>(
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

/** The methods of a part. Each call opens the part and disposes its stub. */
export const callsOfPart = <Part extends object>(open: () => Part): Part =>
	new Proxy({} as Part, {
		get: (_, member) =>
			// A promise may resolve to these methods: they are no promise themselves.
			typeof member === "symbol" || member === "then"
				? undefined
				: (...parameters: unknown[]) =>
						callPart<object, unknown>(open(), (part) => {
							const method: Method = Reflect.get(part, member);
							return Reflect.apply(method, part, parameters);
						}),
	});
