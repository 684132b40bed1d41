/**
 * The RPC entrypoints `AiSearchNamespace` and `AiSearchInstance`: the bindings `ai_search_namespaces` and `ai_search` as service bindings.
 *
 *     "services": [
 *       { "binding": "AI_SEARCH", "service": "ganglion", "entrypoint": "AiSearchNamespace", "props": { "account": "team-a" } },
 *       { "binding": "DOCS", "service": "ganglion", "entrypoint": "AiSearchInstance", "props": { "account": "team-a", "instance": "docs" } }
 *     ]
 *
 * The account, the namespace (`default` if there is none) and the instance come from the binding's `props`, which only the configuration of
 * the calling Worker can set.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError, type FailureKey, toAiError } from "../../core/errors.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import type { Caller } from "../../pipeline/request.ts";
import { DEFAULT_NAMESPACE } from "../../retrieval/search/records.ts";
import type { AppServices } from "../services.ts";
import type { BoundInstance, BoundNamespace } from "./bound-instance.ts";
import { createInstance } from "./instance-operations.ts";
import { InstanceTarget } from "./instance-target.ts";
import type { ItemsTarget } from "./items-target.ts";
import type { JobsTarget } from "./jobs-target.ts";
import { NamespaceTarget } from "./namespace-target.ts";

interface SearchProps {
	account?: string;
	namespace?: string;
	instance?: string;
	/** The namespace and the instance are created at their first use, unless they exist. */
	create?: boolean;
}

type Current = () => { services: AppServices };

/** Only the operator can write the configuration of the calling Worker. */
function callerOf({ account }: SearchProps): Caller {
	if (account !== undefined) return { account, credential: { kind: "operator" }, verified: true };
	throw toRpcError(new AiError("authentication", "Authentication error: the binding has no props.account"));
}

export function searchNamespaceEntrypoint(current: Current) {
	return class extends WorkerEntrypoint<unknown, SearchProps> {
		get(name: string): InstanceTarget {
			return this.#target.get(name);
		}

		list(params?: unknown): Promise<object> {
			return this.#target.list(params);
		}

		create(config: unknown): Promise<InstanceTarget> {
			return this.#target.create(config);
		}

		delete(name: string): Promise<void> {
			return this.#target.delete(name);
		}

		search(request: unknown): Promise<object> {
			return this.#target.search(request);
		}

		chatCompletions(request: unknown): Promise<unknown> {
			return this.#target.chatCompletions(request);
		}

		get #target(): NamespaceTarget {
			const { create, namespace = DEFAULT_NAMESPACE, ...props } = this.ctx.props as SearchProps;
			const bound = { caller: callerOf(props), namespace, services: current().services };
			return new NamespaceTarget({
				...bound,
				...(create && { prepare: () => requireNamespace(bound) }),
			});
		}
	};
}

export function searchInstanceEntrypoint(current: Current) {
	return class extends WorkerEntrypoint<unknown, SearchProps> {
		search(request: unknown): Promise<object> {
			return this.#target.search(request);
		}

		chatCompletions(request: unknown): Promise<unknown> {
			return this.#target.chatCompletions(request);
		}

		info(): Promise<object> {
			return this.#target.info();
		}

		stats(): Promise<object> {
			return this.#target.stats();
		}

		update(changes: unknown): Promise<object> {
			return this.#target.update(changes);
		}

		get items(): ItemsTarget {
			return this.#target.items;
		}

		get jobs(): JobsTarget {
			return this.#target.jobs;
		}

		/** For hosts that return no properties of remote objects, such as `getPlatformProxy()`. */
		part(name: "items" | "jobs"): ItemsTarget | JobsTarget {
			return this.#target.part(name);
		}

		get #target(): InstanceTarget {
			const props = this.ctx.props as SearchProps;
			const { create, instance = "", namespace = DEFAULT_NAMESPACE } = props;
			const caller = callerOf(props);
			const { services } = current();
			const bound = { caller, namespace, instance, services };
			return new InstanceTarget({
				...bound,
				...(create && { prepare: () => requireInstance(bound) }),
			});
		}
	};
}

/** Creates the namespace if it does not exist. */
async function requireNamespace({ caller, namespace, services }: BoundNamespace): Promise<void> {
	if (namespace === DEFAULT_NAMESPACE) return;
	await services.searchInstances
		.createNamespace(caller, { name: namespace })
		.catch(unless("searchNamespaceExists"));
}

/** Creates the instance and its namespace if they do not exist. */
async function requireInstance(bound: BoundInstance): Promise<void> {
	const { caller, instance: id, namespace, services } = bound;
	if (await services.searchInstances.find(caller.account, namespace, id)) return;
	await requireNamespace(bound);
	// Another request may have created it since then.
	await createInstance({ id }, { caller, namespace, services }).catch(unless("searchExists"));
}

/** Throws failures other than this one. */
const unless =
	(key: FailureKey) =>
	(thrown: unknown): void => {
		if (toAiError(thrown).key !== key) throw thrown;
	};
