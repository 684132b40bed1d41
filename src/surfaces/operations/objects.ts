/**
 * Durable Objects in another process. `ganglion serve --workers N` runs the Worker in N processes. The first one has the objects, and
 * accepts calls of them from the others at a Unix socket, through the entrypoint `Objects`. It has no route: only the owner of
 * the socket can call it.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { lateResult } from "../../core/late-result.ts";

/** An object of a namespace: by its name, or by its id. */
type ObjectAddress = { binding: string } & ({ name: string } | { id: string });

/** The calls of the entrypoint. */
export interface ObjectCalls {
	call(address: ObjectAddress, method: string, parameters: readonly unknown[]): Promise<unknown>;
}

/**
 * @param bindings of this process.
 * @param names of the bindings that are namespaces. A check of their members cannot find them, because some other bindings have methods of all names.
 */
export function objects(bindings: object, names: readonly string[]) {
	return class extends WorkerEntrypoint implements ObjectCalls {
		async call(address: ObjectAddress, method: string, parameters: readonly unknown[]): Promise<unknown> {
			if (!names.includes(address.binding))
				throw new Error(`no Durable Object namespace has the binding ${address.binding}`);
			const namespace: DurableObjectNamespace = Reflect.get(bindings, address.binding);
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
export function withRemoteObjects<T extends object>(
	bindings: T,
	names: readonly string[],
	remote: ObjectCalls | undefined,
): T {
	if (!remote) return bindings;
	const replaced = Object.entries(bindings).map(([binding, value]) => [
		binding,
		names.includes(binding) ? remoteNamespace(binding, value, remote) : value,
	]);
	// The entries have the names of `bindings`, and a remote namespace has all members that the gateway uses.
	return Object.fromEntries(replaced) as T;
}

/** The members that the gateway uses. */
type RemoteNamespace = Pick<
	DurableObjectNamespace,
	"newUniqueId" | "idFromName" | "idFromString" | "get" | "getByName"
>;

/** `local`: a namespace of the same class. It has the same ids, because they depend only on the name of the class. */
function remoteNamespace(
	binding: string,
	local: DurableObjectNamespace,
	remote: ObjectCalls,
): RemoteNamespace {
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
				return (...parameters: unknown[]) => lateResult(remote.call(address, member, parameters));
			},
		},
	);
	// The runtime's stubs are proxies too, and accept any method.
	return stub as unknown as DurableObjectStub;
}
