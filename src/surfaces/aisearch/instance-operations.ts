/** The operations on instances, as the bindings and the REST routes have them. */
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import type { OpenInstance } from "../../retrieval/search/client/search-instances.ts";
import { serving } from "../../retrieval/search/models.ts";
import type { NewInstance } from "../../retrieval/search/read-config.ts";
import { vectorIndexOf } from "../../retrieval/search/records.ts";
import { openVectors } from "../../retrieval/search/vectors.ts";
import type { InstanceCall } from "./item-operations.ts";
import { statsJson } from "./json.ts";
import type { NamespaceCall } from "./search-operations.ts";

/** Throws 7010 for an embedding model that does not exist, so that the mistake does not wait for the first item. */
export async function createInstance(
	fields: NewInstance,
	{ caller, namespace, services }: Pick<NamespaceCall, "caller" | "namespace" | "services">,
): Promise<OpenInstance> {
	const { embedding_model: model } = fields;
	if (model && !isProviderModel(model))
		await serving("embedding_model", async () => resolveModel(model, caller, services));
	const { account } = caller;
	return services.searchInstances.opened(
		account,
		await services.searchInstances.create(account, namespace, fields),
	);
}

export async function instanceStats({ instance, services }: InstanceCall): Promise<object> {
	const { account, call, record } = instance;
	const stats = await call((object) => object.stats());
	const store = await openVectors(account, record, record.indexVersion, services);
	if (!store) return statsJson(stats, { count: 0, dimensions: 0 });
	const { vectorCount } = await store.info();
	const { dimensions } = await services.vectorIndexes.get(
		account,
		vectorIndexOf(record, record.indexVersion),
	);
	return statsJson(stats, { count: vectorCount, dimensions });
}
