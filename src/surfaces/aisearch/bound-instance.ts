/** The namespace and the instance of a binding. */
import type { Caller } from "../../pipeline/request.ts";
import type { AppServices } from "../services.ts";
import { answering } from "./rpc-errors.ts";
import type { SearchedCall } from "./search-operations.ts";

export interface BoundNamespace {
	caller: Caller;
	namespace: string;
	services: AppServices;
	/** Before each use: creates what a local session needs, unless it exists. */
	prepare?(): Promise<void>;
}

/** An instance that a binding names. It is opened by each call. */
export interface BoundInstance extends BoundNamespace {
	instance: string;
}

/** Runs a method with the opened instance. */
export const withInstance = <Value>(
	{ caller, instance: id, namespace, prepare, services }: BoundInstance,
	method: (call: SearchedCall) => Promise<Value>,
): Promise<Value> =>
	answering(async () => {
		await prepare?.();
		const instance = await services.searchInstances.open(caller.account, namespace, id);
		return method({ caller, instance, services, signal: new AbortController().signal });
	}, services);
