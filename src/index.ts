/** The entry points. A mistake in the configuration stops the start. */
import { env } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { objectNames } from "./config/bindings.ts";
import { type Config, ConfigError, configure } from "./config/index.ts";
import type { AiError } from "./core/errors.ts";
import { Fleet as FleetObject } from "./fleet/fleet.ts";
import type { EngineFolders } from "./jobs/adapters/engine-folders.ts";
import { JobStoreObject } from "./jobs/durable/job-store.ts";
import { hopsOf, MAX_HOPS, traceOf, withHops, withTrace } from "./outbound/passed-headers.ts";
import { createPersistent } from "./persistent-services.ts";
import { preloadModels } from "./pipeline/preload.ts";
import type { ModelDemand } from "./pools/model-demand.ts";
import { ResponseStoreObject } from "./responses/durable/response-store.ts";
import { SearchInstanceObject } from "./retrieval/search/durable/search-instance.ts";
import { SearchRegistryObject } from "./retrieval/search/durable/search-registry.ts";
import type { VectorIndexes } from "./retrieval/vectors/client/vector-indexes.ts";
import { VectorRegistryObject } from "./retrieval/vectors/durable/registry.ts";
import type { ShardCalls } from "./retrieval/vectors/durable/shard.ts";
import { VectorIndexObject } from "./retrieval/vectors/durable/vector-index.ts";
import type { VectorIndexRecord, VectorMatch } from "./retrieval/vectors/records.ts";
import { servicesOf } from "./services.ts";
import { BlobStoreObject } from "./storage/blobs/blob-store.ts";
import type { ContentStore } from "./storage/blobs/contents.ts";
import { contentStores } from "./storage/create-storage.ts";
import type { WorkCalls } from "./storage/queue/run-work.ts";
import type { Queue } from "./storage/queue/work.ts";
import { workEntrypoint } from "./storage/queue/work-entrypoint.ts";
import { WorkQueueObject, type WorkQueueServices } from "./storage/queue/work-queue.ts";
import type { Storage } from "./storage/storage.ts";
import { searchInstanceEntrypoint, searchNamespaceEntrypoint } from "./surfaces/aisearch/entrypoints.ts";
import { closing, drain } from "./surfaces/operations/drain.ts";
import { connections } from "./surfaces/operations/guard-counts.ts";
import { HEALTH_PATH } from "./surfaces/operations/health.ts";
import { looping } from "./surfaces/operations/loop.ts";
import { objects } from "./surfaces/operations/objects.ts";
import { reload } from "./surfaces/operations/reload.ts";
import { reports } from "./surfaces/operations/worker-reports.ts";
import { entrypoint } from "./surfaces/rpc/entrypoint.ts";
import { vectorizeEntrypoint } from "./surfaces/vectorize/entrypoint.ts";
import { workHandler } from "./work-handlers.ts";

const config = configure(env);
const persistent = createPersistent(env, config);
const { background, deletedAccounts } = persistent;
/** A reload replaces this object. A request keeps the one with which it started. */
let current = gateway(config);

function gateway(config: Config) {
	const services = servicesOf(config, persistent);
	return {
		services,
		storage: config.storage,
		allowAnonymous: config.allowAnonymous,
		app: createApp(services, config),
	};
}

const isHealth = ({ url }: Request): boolean => new URL(url).pathname === HEALTH_PATH;

export default {
	fetch(request: Request) {
		const hops = hopsOf(request.headers);
		if (hops > MAX_HOPS && !isHealth(request)) return looping();
		if (background.isClosed && !isHealth(request)) return closing();
		const { app } = current;
		const trace = traceOf(request.headers);
		if (hops === 0 && trace === undefined) return app.fetch(request);
		return withHops(hops, () => withTrace(trace, () => app.fetch(request)));
	},
} satisfies ExportedHandler;

export class AI extends entrypoint(() => current) {}
export class Vectorize extends vectorizeEntrypoint(() => current) {}
export class AiSearchNamespace extends searchNamespaceEntrypoint(() => current) {}
export class AiSearchInstance extends searchInstanceEntrypoint(() => current) {}
export class Connections extends connections(persistent.guardCounts, persistent.runtimeDelay) {}
export class Drain extends drain(background) {}
export class Objects extends objects(env, objectNames(env)) {}
export class Reports extends reports(() => current.services) {}
export class Reload extends reload((variables) => {
	try {
		current = gateway(configure(variables));
		return undefined;
	} catch (error) {
		if (error instanceof ConfigError) return error.message;
		throw error;
	}
}) {}

export class Fleet extends FleetObject {
	protected override preload(demands: readonly ModelDemand[]): Promise<void> {
		return preloadModels(demands, current.services);
	}
}

export class BlobStore extends BlobStoreObject {
	protected override contentStore(store: ContentStore["store"]): ContentStore | undefined {
		return contentStores(persistent.storageBindings, current.storage)[store];
	}
}

export class ResponseStore extends ResponseStoreObject {
	protected override queue(): Pick<Queue, "enqueue"> {
		return current.services.storage.queue;
	}
}

export class VectorIndex extends VectorIndexObject {
	protected override further(name: string): ShardCalls {
		return persistent.ownShards.index(name);
	}

	protected override giveWay(): Promise<void> {
		return persistent.runtimeDelay.giveWay((milliseconds) => scheduler.wait(milliseconds));
	}
}

export class VectorRegistry extends VectorRegistryObject {
	protected override isOnlyProcess(): boolean {
		return persistent.isOnlyProcess;
	}

	protected override drop(record: VectorIndexRecord): Promise<void> {
		return deletedAccounts.exempt(() => current.services.vectorIndexes.drop(record));
	}

	protected override search(...query: Parameters<VectorIndexes["search"]>): Promise<VectorMatch[]> {
		return current.services.vectorIndexes.search(...query);
	}

	protected override queue(): Pick<Queue, "enqueue"> {
		return current.services.storage.queue;
	}
}

export class SearchRegistry extends SearchRegistryObject {
	/** It enqueues only deletions. */
	protected override queue(): Pick<Queue, "enqueue"> {
		const { queue } = current.services.storage;
		return { enqueue: (items) => deletedAccounts.exempt(() => queue.enqueue(items)) };
	}
}

export class SearchInstance extends SearchInstanceObject {
	protected override queue(): Pick<Queue, "enqueue"> {
		return current.services.storage.queue;
	}
}

export class JobStore extends JobStoreObject {
	protected override storage(): Storage {
		return current.services.storage;
	}

	protected override engineFolders(): Pick<EngineFolders, "delete"> {
		return current.services.engineFolders;
	}

	protected override log(error: AiError): void {
		current.services.log(error, "");
	}
}

export class Work extends workEntrypoint((kind) => workHandler(kind, current.services)) {}

export class WorkQueue extends WorkQueueObject {
	protected override services(): WorkQueueServices {
		// The exports of this module, which has its own type only after this class.
		const { Work } = this.ctx.exports as unknown as { Work: WorkCalls };
		return {
			bounds: current.storage.queue,
			run: (row, fence, control) => Work.run(row, fence, control),
			isClosing: () => background.isClosed,
			isYielding: () => persistent.runtimeDelay.isBehind,
			track: background.waitUntil,
		};
	}
}

export { Account } from "./accounts/durable/account.ts";
export { Directory } from "./accounts/durable/directory.ts";
export { Gateway } from "./gateways/durable/gateway.ts";
export { GatewayRegistry } from "./gateways/durable/registry.ts";
export { ResponseCache } from "./gateways/durable/response-cache.ts";
export { StreamRun } from "./gateways/durable/stream-run.ts";
export { CallsEntrypoint as Calls } from "./http/own-context.ts";
export { Documents } from "./retrieval/documents/documents-entrypoint.ts";
