/** The namespace and the instance of a binding. */
import { inOwnContext } from "../../http/own-context.ts";
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

/** Runs a method with the opened instance. `signal`: fires when the caller leaves. */
export const withInstance = <Value>(
	{ caller, instance: id, namespace, prepare, services }: BoundInstance,
	method: (call: SearchedCall) => Promise<Value>,
	signal = new AbortController().signal,
): Promise<Value> =>
	answering(async () => {
		await prepare?.();
		const instance = await services.searchInstances.open(caller.account, namespace, id);
		return method({ caller, instance, services, signal });
	}, services);

/** The same for work that calls models or waits: it ends when the caller leaves. */
export const workWithInstance = <Value>(
	bound: BoundInstance,
	method: (call: SearchedCall) => Promise<Value>,
): Promise<Value> => inOwnContext((left) => withInstance(bound, method, left));
