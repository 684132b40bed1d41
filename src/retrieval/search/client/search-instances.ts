/** An isolate's client of the AI Search instances of all accounts: the registry of an account, and the objects of its instances. */
import { callStorage, requireDiskSpace } from "../../../core/object-failure.ts";
import type { Caller } from "../../../pipeline/request.ts";
import type { RemoteCalls } from "../../../storage/remote-calls.ts";
import type { SearchInstanceObject } from "../durable/search-instance.ts";
import type { InstanceQuery, SearchRegistryObject } from "../durable/search-registry.ts";
import { instanceNotFound, namespaceNotFound, searchFailure } from "../failures.ts";
import { MAX_LISTED } from "../limits.ts";
import type { NamespaceEndpoint, PublicEndpoint } from "../public-endpoint.ts";
import {
	type ConfigChanges,
	changesIndex,
	changesSource,
	configOf,
	type NewInstance,
} from "../read-config.ts";
import {
	DEFAULT_NAMESPACE,
	type InstanceRecord,
	type InstanceSize,
	objectOfIndex,
	type Page,
	type Publisher,
	type SearchNamespace,
	type SearchSettings,
	type SearchUsage,
	vectorIndexOf,
} from "../records.ts";
import { checkSource, type SourceSettings } from "../sources/source-config.ts";
import { changedNamespace, type NamespaceChanges } from "./changed-namespace.ts";
import { admitted, type Published } from "./published.ts";

type SearchRegistryCalls = RemoteCalls<Omit<SearchRegistryObject, "alarm" | "fetch">>;
type InstanceCalls = RemoteCalls<Omit<SearchInstanceObject, "alarm" | "fetch">>;

const ownerOf = ({ account, credential }: Caller): Publisher => ({
	account,
	credential,
});

/** A stub belongs to the request that created it, so each call needs a new one. */
export interface SearchObjects {
	searchRegistry(account: string): SearchRegistryCalls;
	searchInstance(object: string): InstanceCalls;
}

export interface SearchRoomBindings {
	SEARCH_INSTANCE: DurableObjectNamespace<SearchInstanceObject>;
	SEARCH_REGISTRY: DurableObjectNamespace<SearchRegistryObject>;
}

export const searchObjects = ({ SEARCH_INSTANCE, SEARCH_REGISTRY }: SearchRoomBindings): SearchObjects => ({
	// The runtime's types of results are too deep for the compiler.
	searchRegistry: (account) => SEARCH_REGISTRY.getByName(account) as unknown as SearchRegistryCalls,
	searchInstance: (object) => SEARCH_INSTANCE.getByName(object) as unknown as InstanceCalls,
});

interface InstancesServices extends SearchObjects {
	settings: SearchSettings;
	/** Epoch milliseconds. */
	now(): number;
	uuid(): string;
}

/** An instance with the calls of its object. */
export interface OpenInstance {
	account: string;
	record: InstanceRecord;
	/** Throws 7009 (502) if the object cannot be called, and 429 if the account has too many open objects. */
	call<Value>(method: (object: InstanceCalls) => Promise<Value>): Promise<Value>;
}

export class SearchInstances {
	readonly #services: InstancesServices;

	constructor(services: InstancesServices) {
		this.#services = services;
	}

	/** Throws 7062, 7064, 7097. */
	async createNamespace(
		caller: Caller,
		{ name, ...changes }: NamespaceChanges & Pick<SearchNamespace, "name">,
	): Promise<SearchNamespace> {
		const { account } = caller;
		const namespace = await this.#changed(caller, { name, createdAt: this.#services.now() }, changes);
		const creation = await this.#registry(account, (registry) => registry.createNamespace(namespace));
		if (creation === "exists") throw searchFailure("searchNamespaceExists");
		if (creation === "too-many") throw searchFailure("tooManySearchNamespaces");
		return namespace;
	}

	/** Throws 7063. */
	async namespace(account: string, name: string): Promise<SearchNamespace> {
		const namespace = await this.#registry(account, (registry) => registry.namespace(name));
		return namespace ?? this.#noNamespace(account, name);
	}

	namespaces(account: string): Promise<SearchNamespace[]> {
		return this.#registry(account, (registry) => registry.namespaces());
	}

	/** Throws 7063, 7065, 7097. */
	async changeNamespace(caller: Caller, name: string, changes: NamespaceChanges): Promise<SearchNamespace> {
		if (name === DEFAULT_NAMESPACE) throw searchFailure("searchDefaultNamespace");
		const { account } = caller;
		const namespace = await this.#changed(caller, await this.namespace(account, name), changes);
		await this.#registry(account, (registry) => registry.putNamespace(namespace));
		return namespace;
	}

	async #changed(
		caller: Caller,
		before: SearchNamespace,
		changes: NamespaceChanges,
	): Promise<SearchNamespace> {
		const { account } = caller;
		const allowed = changes.public_endpoint_params?.instances_allowed ?? [];
		const found = await Promise.all(allowed.map((id) => this.find(account, before.name, id)));
		if (found.includes(undefined)) throw searchFailure("searchUnknownAllowed");
		return changedNamespace(before, changes, { publisher: ownerOf(caller), uuid: this.#services.uuid });
	}

	/** Throws 7063, 7065, 7066. */
	async deleteNamespace(account: string, name: string): Promise<void> {
		if (name === DEFAULT_NAMESPACE) throw searchFailure("searchDefaultNamespace");
		const deletion = await this.#registry(account, (registry) => registry.deleteNamespace(name));
		if (deletion === "missing") await this.#noNamespace(account, name);
		if (deletion === "not-empty") throw searchFailure("searchNamespaceNotEmpty");
	}

	/** What the operator allows as sources. */
	get sources(): SourceSettings {
		return this.#services.settings.sources;
	}

	/** Throws 7013, 7017, 7022, 7036, 7063. */
	async create(caller: Caller, namespace: string, { id, ...changes }: NewInstance): Promise<InstanceRecord> {
		requireDiskSpace("AI Search instances");
		const { account } = caller;
		const { now, settings, uuid } = this.#services;
		const createdAt = now();
		const config = configOf(changes);
		if (config.origin) checkSource(config.origin, account, settings.sources);
		const record: InstanceRecord = {
			...{ namespace, id, object: `${account}/${uuid()}`, config, indexVersion: 1 },
			...{ createdAt, modifiedAt: createdAt },
			...(config.origin && { owner: ownerOf(caller) }),
			...(config.public_endpoint_params?.enabled && { publisher: ownerOf(caller) }),
		};
		const creation = await this.#registry(account, (registry) =>
			registry.create(record, settings.maxInstances),
		);
		if (creation === "exists") throw searchFailure("searchExists");
		if (creation === "no-namespace") await this.#noNamespace(account, namespace);
		if (creation === "too-many") throw searchFailure("tooManySearchInstances", "AI_SEARCH.max_instances");
		await this.#setup(account, record);
		return record;
	}

	list(account: string, query: InstanceQuery): Promise<Page<InstanceRecord>> {
		return this.#registry(account, (registry) => registry.list(query));
	}

	/** Throws 7002. */
	async open(account: string, namespace: string, id: string): Promise<OpenInstance> {
		const record = await this.find(account, namespace, id);
		return this.opened(account, record ?? (await this.#noInstance(account, namespace, id)));
	}

	find(account: string, namespace: string, id: string): Promise<InstanceRecord | undefined> {
		return this.#registry(account, (registry) => registry.get(namespace, id));
	}

	/** The instance whose vectors are in the index with this name. An index of an earlier version has none. */
	async ofVectorIndex(account: string, name: string): Promise<InstanceRecord | undefined> {
		const object = objectOfIndex(account, name);
		if (object === undefined) return undefined;
		const record = await this.#registry(account, (registry) => registry.withObject(object));
		return record && vectorIndexOf(record, record.indexVersion) === name ? record : undefined;
	}

	opened(account: string, record: InstanceRecord): OpenInstance {
		return {
			account,
			record,
			call: (method) => this.#call(() => method(this.#services.searchInstance(record.object))),
		};
	}

	/** Changes what makes the index invalid queue all items again. Throws 7002, 7017, 7036. */
	async update(caller: Caller, record: InstanceRecord, changes: ConfigChanges): Promise<InstanceRecord> {
		const { account } = caller;
		const config = configOf(changes, record.config);
		const isOtherSource = changesSource(record.config, config);
		if (config.origin && isOtherSource) checkSource(config.origin, account, this.sources);
		const reindexes = changesIndex(record.config, config);
		const changed: InstanceRecord = {
			...record,
			config,
			modifiedAt: this.#services.now(),
			...(reindexes && { indexVersion: record.indexVersion + 1 }),
			...(isOtherSource && { owner: ownerOf(caller) }),
			...(changes.public_endpoint_params?.enabled && { publisher: ownerOf(caller) }),
		};
		const replaced = await this.#registry(account, (registry) => registry.replace(changed));
		if (!replaced) await this.#noInstance(account, record.namespace, record.id);
		await this.#setup(account, changed);
		if (reindexes) await this.#reindex(account, changed);
		return changed;
	}

	/** Throws 7002. */
	async delete(account: string, namespace: string, id: string): Promise<InstanceRecord> {
		const record = await this.#registry(account, (registry) => registry.delete(account, namespace, id));
		return record ?? this.#noInstance(account, namespace, id);
	}

	/** Counts a request of the public endpoint of an instance. Throws 60003, 60004, 60005. */
	async publicRequest(account: string, id: string): Promise<Published<PublicEndpoint, InstanceRecord>> {
		const now = this.#services.now();
		const request = await this.#registry(account, (registry) =>
			registry.publicRequest(`${account}/${id}`, now),
		);
		return admitted(request, request?.target.config.public_endpoint_params);
	}

	/** The same of a namespace. */
	async publicNamespaceRequest(
		account: string,
		id: string,
	): Promise<Published<NamespaceEndpoint, SearchNamespace>> {
		const now = this.#services.now();
		const request = await this.#registry(account, (registry) => registry.publicNamespaceRequest(id, now));
		return admitted(request, request?.target.endpoint);
	}

	/** Nothing of a deleted instance is left but its object. */
	async drop(account: string, object: string): Promise<void> {
		await this.#call(() => this.#services.searchInstance(object).drop());
		await this.#registry(account, (registry) => registry.dropped(object));
	}

	/** Returns whether the account has room for so many bytes. */
	reserve(account: string, object: string, bytes: number): Promise<boolean> {
		const { maxBytes } = this.#services.settings;
		return this.#registry(account, (registry) => registry.reserve(object, bytes, maxBytes));
	}

	report(account: string, object: string, size: InstanceSize): Promise<void> {
		return this.#registry(account, (registry) => registry.report(object, size));
	}

	usage(account: string): Promise<SearchUsage> {
		return this.#registry(account, (registry) => registry.usage());
	}

	/** Throws 7063. */
	async #noNamespace(account: string, name: string): Promise<never> {
		const known = (await this.namespaces(account)).map((one) => one.name);
		throw namespaceNotFound(name, known);
	}

	/** Throws 7002. */
	async #noInstance(account: string, namespace: string, id: string): Promise<never> {
		const { values } = await this.list(account, { namespace, page: 1, perPage: MAX_LISTED });
		const known = values.map((one) => one.id);
		throw instanceNotFound(id, namespace, known);
	}

	#setup(account: string, { config, id, namespace, object }: InstanceRecord): Promise<void> {
		const tokenizer = config.indexing_options.keyword_tokenizer;
		const { origin, paused, sync_interval: seconds } = config;
		const setup = {
			...{ account, object, namespace, instance: id, tokenizer },
			...(origin && !paused && { source: { intervalMs: seconds * 1_000 } }),
		};
		return this.#call(() => this.#services.searchInstance(object).setup(setup));
	}

	async #reindex(account: string, record: InstanceRecord): Promise<void> {
		const { custom_metadata: custom } = record.config;
		await this.opened(account, record).call((object) => object.reindex(custom, this.#services.now()));
	}

	#registry<Value>(
		account: string,
		method: (registry: SearchRegistryCalls) => Promise<Value>,
	): Promise<Value> {
		return this.#call(() => method(this.#services.searchRegistry(account)));
	}

	#call<Value>(method: () => Promise<Value>): Promise<Value> {
		return callStorage(method, "searchUnavailable");
	}
}
