/** A namespace of AI Search over RPC: the methods of the product's `AiSearchNamespace` (workerd, `types/defines/ai-search.d.ts`). */
import { RpcTarget } from "cloudflare:workers";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { inOwnContext } from "../../http/own-context.ts";
import { NewInstance } from "../../retrieval/search/read-config.ts";
import type { BoundNamespace } from "./bound-instance.ts";
import { createInstance, instanceFilters, listInstances } from "./instance-operations.ts";
import { answerOf, InstanceTarget, isStreamed } from "./instance-target.ts";
import { PageListing } from "./item-lists.ts";
import { instanceJson, pageJson } from "./json.ts";
import { answering } from "./rpc-errors.ts";
import { chatNamespace, type NamespaceCall, searchNamespace } from "./search-operations.ts";

const Listing = lazy(() => PageListing().extend(instanceFilters()));

export class NamespaceTarget extends RpcTarget {
	readonly #bound: BoundNamespace;
	readonly #call: NamespaceCall;

	constructor(bound: BoundNamespace) {
		super();
		this.#bound = bound;
		const { caller, namespace, services } = bound;
		this.#call = { caller, namespace, services, signal: new AbortController().signal };
	}

	get(name: string): InstanceTarget {
		return new InstanceTarget({ ...this.#bound, instance: String(name) });
	}

	list(params: unknown = {}): Promise<object> {
		return this.#answering(async () => {
			const query = parseFields(Listing(), params ?? {}, "query");
			return pageJson(await listInstances(query, this.#call), query, instanceJson);
		});
	}

	create(config: unknown): Promise<InstanceTarget> {
		return this.#answering(async () => {
			const fields = parseFields(NewInstance(), config, "body");
			await createInstance(fields, this.#call);
			return this.get(fields.id);
		});
	}

	delete(name: string): Promise<void> {
		const { caller, namespace, services } = this.#call;
		return this.#answering(
			async () => void (await services.searchInstances.delete(caller.account, namespace, String(name))),
		);
	}

	search(request: unknown): Promise<object> {
		return this.#working(async (call) => (await searchNamespace(request, call)).result);
	}

	chatCompletions(request: unknown): Promise<unknown> {
		return this.#working(async (call) => answerOf(await chatNamespace(request, call), isStreamed(request)));
	}

	/** Ends when the caller leaves. */
	#working<Value>(method: (call: NamespaceCall) => Promise<Value>): Promise<Value> {
		return inOwnContext((signal) => this.#answering(() => method({ ...this.#call, signal })));
	}

	#answering<Value>(method: () => Promise<Value>): Promise<Value> {
		return answering(async () => {
			await this.#bound.prepare?.();
			return method();
		}, this.#call.services);
	}
}
