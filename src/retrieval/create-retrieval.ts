/** Creates the services of the vector indexes and of AI Search from the bindings and the settings. */
import {
	SearchInstances,
	type SearchObjects,
	type SearchRoomBindings,
	searchObjects,
} from "./search/client/search-instances.ts";
import type { SearchSettings } from "./search/records.ts";
import { QueryCounts } from "./vectors/client/query-counts.ts";
import { VectorIndexes, type VectorSettings } from "./vectors/client/vector-indexes.ts";
import {
	type VectorObjects,
	type VectorRoomBindings,
	vectorObjects,
} from "./vectors/client/vector-objects.ts";

export type RetrievalObjects = VectorObjects & SearchObjects;

export const retrievalObjects = (bindings: VectorRoomBindings & SearchRoomBindings): RetrievalObjects => ({
	...vectorObjects(bindings),
	...searchObjects(bindings),
});

/** Of an isolate. A reload of the configuration keeps them. */
export const createQueryCounts = (
	bindings: VectorRoomBindings,
	services: Omit<ConstructorParameters<typeof QueryCounts>[0], "report" | "uuid">,
): QueryCounts =>
	new QueryCounts({
		...services,
		uuid: () => crypto.randomUUID(),
		report: (account, report) => vectorObjects(bindings).registry(account).countQueries(report),
	});

type RetrievalServices = RetrievalObjects & Omit<ConstructorParameters<typeof VectorIndexes>[0], "settings">;

export const createRetrieval = (
	services: RetrievalServices,
	{ search, vectors }: { search: SearchSettings; vectors: VectorSettings },
): { searchInstances: SearchInstances; vectorIndexes: VectorIndexes } => ({
	searchInstances: new SearchInstances({ ...services, settings: search }),
	vectorIndexes: new VectorIndexes({ ...services, settings: vectors }),
});
