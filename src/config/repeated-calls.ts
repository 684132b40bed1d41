/** Calls of Durable Objects. One that an object refuses because it starts again (`core/object-clock.ts`) is made again. */
import { startsAgain } from "../core/object-clock.ts";
import { OBJECT_BINDINGS } from "./bindings.ts";

/** A start of an object takes some milliseconds. */
const REPEATS = 10;
const REPEAT_MS = 20;

type Wait = (milliseconds: number) => Promise<void>;

/** Replaces the namespaces of objects. */
export function withRepeatedCalls<T extends object>(bindings: T, wait: Wait): T {
	const replaced = Object.entries(bindings).map(([name, value]) => [
		name,
		OBJECT_BINDINGS.includes(name) ? repeatingNamespace(value, wait) : value,
	]);
	// The entries have the names of `bindings`, and such a namespace has all members of its own.
	return Object.fromEntries(replaced) as T;
}

const repeatingNamespace = (namespace: DurableObjectNamespace, wait: Wait): DurableObjectNamespace =>
	new Proxy(namespace, {
		get(target, member) {
			if (member === "getByName") return (name: string) => repeatingStub(() => target.getByName(name), wait);
			if (member === "get") return (id: DurableObjectId) => repeatingStub(() => target.get(id), wait);
			const value: unknown = Reflect.get(target, member);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});

/** `stubOf`: the stub of an object that has ended is broken. */
function repeatingStub(stubOf: () => DurableObjectStub, wait: Wait): DurableObjectStub {
	const first = stubOf();
	return new Proxy(first, {
		get(target, member) {
			const value: unknown = Reflect.get(target, member);
			if (typeof value !== "function" || typeof member === "symbol") return value;
			return (...parameters: unknown[]) => {
				const call = (stub: DurableObjectStub): object =>
					Reflect.apply(Reflect.get(stub, member), stub, parameters);
				return repeatedResult(call(first), () => call(stubOf()), wait);
			};
		},
	});
}

/** As with the runtime's results, a method of the result may be called at once. */
function repeatedResult(first: object, again: () => object, wait: Wait): object {
	let settled: Promise<unknown> | undefined;
	return new Proxy(first, {
		get(target, member) {
			if (member === "then" || member === "catch" || member === "finally")
				return (...handlers: unknown[]) => {
					settled ??= settle(target, again, wait);
					return Reflect.apply(settled[member], settled, handlers);
				};
			const value: unknown = Reflect.get(target, member);
			if (typeof value !== "function") return value;
			if (typeof member === "symbol") return value.bind(target);
			return (...parameters: unknown[]) => {
				const use = (result: object): object => {
					// The call of its method fails too.
					Promise.resolve(result).catch(() => {});
					return Reflect.apply(Reflect.get(result, member), result, parameters);
				};
				return settle(use(target), () => use(again()), wait);
			};
		},
	});
}

async function settle(first: object, again: () => object, wait: Wait): Promise<unknown> {
	let call = first;
	for (let repeats = 0; ; repeats++) {
		try {
			return await call;
		} catch (cause) {
			if (repeats === REPEATS || !startsAgain(cause)) throw cause;
		}
		await wait(REPEAT_MS);
		call = again();
	}
}
