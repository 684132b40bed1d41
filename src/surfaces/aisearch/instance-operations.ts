/** The operations on instances, as the bindings and the REST routes have them. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { OpenInstance } from "../../retrieval/search/client/search-instances.ts";
import { type ConfigChanges, changesSource, type NewInstance } from "../../retrieval/search/read-config.ts";
import { type InstanceRecord, type Page, vectorIndexOf } from "../../retrieval/search/records.ts";
import { openVectors } from "../../retrieval/search/vectors.ts";
import { requireModelsAndGateway } from "./instance-models.ts";
import type { InstanceCall } from "./item-operations.ts";
import { startJob } from "./job-operations.ts";
import { instanceJson, statsJson } from "./json.ts";
import type { NamespaceCall } from "./search-operations.ts";

type OwnCall = Pick<NamespaceCall, "caller" | "namespace" | "services">;

/** Beside the page. REST has the same as texts of a query. */
export const instanceFilters = lazy(() => ({
	search: z.string().optional(),
	order_by: z.enum(["created_at"]).optional(),
	order_by_direction: z.enum(["asc", "desc"]).default("desc"),
}));

interface InstanceListing {
	page: number;
	per_page: number;
	search?: string | undefined;
	order_by_direction: "asc" | "desc";
}

export async function listInstances(
	{ order_by_direction, page, per_page: perPage, search }: InstanceListing,
	{ caller, namespace, services: { searchInstances } }: OwnCall,
): Promise<Page<InstanceRecord>> {
	await searchInstances.namespace(caller.account, namespace);
	const isDescending = order_by_direction === "desc";
	return searchInstances.list(caller.account, { namespace, page, perPage, search, isDescending });
}

/** Throws 7010, 7018. */
export async function createInstance(
	fields: NewInstance,
	{ caller, namespace, services }: OwnCall,
): Promise<OpenInstance> {
	await requireModelsAndGateway(fields, { caller, services });
	const { searchInstances } = services;
	const record = await searchInstances.create(caller, namespace, fields);
	const instance = searchInstances.opened(caller.account, record);
	if (record.config.origin) await startJob(undefined, { caller, instance, services });
	return instance;
}

/** A new source is read at once. Throws 7010, 7018. */
export async function changeInstance(
	fields: ConfigChanges,
	{ caller, instance, services }: InstanceCall,
): Promise<InstanceRecord> {
	const { record: before } = instance;
	await requireModelsAndGateway(fields, { caller, services }, before.config);
	const record = await services.searchInstances.update(caller, before, fields);
	const opened = services.searchInstances.opened(caller.account, record);
	const { origin, paused } = record.config;
	if (origin && !paused && changesSource(before.config, record.config))
		await startJob(undefined, { caller, instance: opened, services }, 0);
	return record;
}

/** `record`: the instance after a change. */
export async function instanceInfo(
	{ instance }: Pick<InstanceCall, "instance">,
	record = instance.record,
): Promise<object> {
	const { lastActivity } = await instance.call((object) => object.stats());
	return instanceJson(record, lastActivity);
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
