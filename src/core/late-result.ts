/**
 * The result of a call of a Durable Object that begins later, or in another process. As with the runtime's promises, a method of the result
 * may be called at once. A result is released after its use: plain values and streams stay valid then.
 */
export const lateResult = (call: Promise<unknown>): object =>
	new Proxy(call, {
		get(_, member) {
			if (member === "then" || member === "catch" || member === "finally") {
				const settled = call.then(releasePlain);
				return settled[member].bind(settled);
			}
			if (typeof member === "symbol") return undefined;
			return (...parameters: unknown[]) => callOf(call, member, parameters);
		},
	});

function releasePlain(value: unknown): unknown {
	if (typeof value === "object") release(value);
	return value;
}

async function callOf(target: Promise<unknown>, member: string, parameters: unknown[]) {
	const stub = await target;
	try {
		const method: unknown = Object(stub)[member];
		if (typeof method !== "function") throw new Error(`the result has no method ${member}`);
		return await Reflect.apply(method, stub, parameters);
	} finally {
		release(stub);
	}
}

function release(value: unknown): void {
	const dispose: unknown = Object(value)[Symbol.dispose];
	if (typeof dispose === "function") Reflect.apply(dispose, value, []);
}
