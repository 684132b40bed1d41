/**
 * Durable Objects in another process. `ganglion serve --workers N` runs the Worker in N processes. The first one has the objects, and
 * accepts calls of them from the others at a Unix socket, through the entrypoint `Objects`. It has no route: only the owner of
 * the socket can call it.
 */
import { WorkerEntrypoint } from "cloudflare:workers";

/** An object of a namespace: by its name, or by its id. */
type ObjectAddress = { binding: string } & ({ name: string } | { id: string });

/** The calls of the entrypoint. */
export interface ObjectCalls {
	call(address: ObjectAddress, method: string, parameters: readonly unknown[]): Promise<unknown>;
}

/** @param bindings of this process, by name. */
export function objects(bindings: object) {
	return class extends WorkerEntrypoint implements ObjectCalls {
		async call(address: ObjectAddress, method: string, parameters: readonly unknown[]): Promise<unknown> {
			const namespace: unknown = Reflect.get(bindings, address.binding);
			if (!isNamespace(namespace))
				throw new Error(`no Durable Object namespace has the binding ${address.binding}`);
			const stub =
				"name" in address
					? namespace.getByName(address.name)
					: namespace.get(namespace.idFromString(address.id));
			const callable: unknown = Reflect.get(stub, method);
			if (typeof callable !== "function") throw new Error(`a Durable Object has no method ${method}`);
			return Reflect.apply(callable, stub, parameters);
		}
	};
}

/** Replaces the namespaces of `bindings` by those of the process that `remote` calls. Returns `bindings` if `remote` is absent. */
export function withRemoteObjects<T extends object>(bindings: T, remote: ObjectCalls | undefined): T {
	if (!remote) return bindings;
	const replaced = Object.entries(bindings).map(([binding, value]: [string, unknown]) => [
		binding,
		isNamespace(value) ? remoteNamespace(binding, value, remote) : value,
	]);
	// The entries have the names of `bindings`, and a remote namespace has all members that the gateway uses.
	return Object.fromEntries(replaced) as T;
}

const isNamespace = (value: unknown): value is DurableObjectNamespace =>
	typeof value === "object" && value !== null && "idFromName" in value && "newUniqueId" in value;

/** `local`: a namespace of the same class. It has the same ids, because they depend only on the name of the class. */
function remoteNamespace(
	binding: string,
	local: DurableObjectNamespace,
	remote: ObjectCalls,
): Pick<DurableObjectNamespace, "newUniqueId" | "idFromName" | "idFromString" | "get" | "getByName"> {
	return {
		newUniqueId: (options) => local.newUniqueId(options),
		idFromName: (name) => local.idFromName(name),
		idFromString: (id) => local.idFromString(id),
		get: (id) => remoteStub(id, { binding, id: id.toString() }, remote),
		getByName: (name) => remoteStub(local.idFromName(name), { binding, name }, remote),
	};
}

/** Each method calls the object in the other process. Its errors keep their name, message and properties. */
function remoteStub(id: DurableObjectId, address: ObjectAddress, remote: ObjectCalls): DurableObjectStub {
	const stub = new Proxy(
		{ id },
		{
			get(target, member) {
				if (member === "id") return target.id;
				// A promise may resolve to a stub, which then must not look like a promise.
				if (typeof member === "symbol" || member === "then") return undefined;
				return async (...parameters: unknown[]) => {
					const result = await remote.call(address, member, parameters);
					// The objects return plain values and streams, which stay valid.
					if (isDisposable(result)) result[Symbol.dispose]();
					return result;
				};
			},
		},
	);
	// The runtime's stubs are proxies too, and accept any method.
	return stub as unknown as DurableObjectStub;
}

const isDisposable = (value: unknown): value is Disposable =>
	typeof value === "object" && value !== null && Symbol.dispose in value;
