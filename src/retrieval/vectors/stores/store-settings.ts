/** The stores of `VECTORS.stores`, as the configuration reads them. They contain secrets. */

export interface PgvectorSetting {
	kind: "pgvector";
	/** A Hyperdrive binding has the address of a pool of connections. */
	server: PostgresServer | { hyperdrive: { readonly connectionString: string } };
	/** The schema of all tables. */
	schema: string;
	/** Connections of a process at the same time. */
	maxConnections: number;
	/** Candidates of a search in an HNSW index, at least. */
	efSearch: number;
}

export interface PostgresServer {
	hostname: string;
	port: number;
	database: string;
	user: string;
	password: string;
	hasTls: boolean;
}

export interface QdrantSetting {
	kind: "qdrant";
	/** Without a slash at the end. */
	url: string;
	/** Empty: the server needs none. */
	apiKey: string;
	/** Of the names of all collections. */
	prefix: string;
}

/** An account of the hosted product. */
export interface VectorizeAccount {
	/** Of the API, without a slash at the end. */
	url: string;
	id: string;
	token: string;
}

/** The methods of the runtime's class that are called. */
export interface BoundVectorize {
	describe(): Promise<unknown>;
	query(vector: number[], options: object): Promise<unknown>;
	queryById(id: string, options: object): Promise<unknown>;
	insert(vectors: object[]): Promise<unknown>;
	upsert(vectors: object[]): Promise<unknown>;
	getByIds(ids: string[]): Promise<unknown>;
	deleteByIds(ids: string[]): Promise<unknown>;
}

export interface VectorizeSetting {
	kind: "vectorize";
	/** Of its REST API. Absent: only the binding is used. */
	account?: VectorizeAccount;
	binding?: BoundVectorize;
	/** The name of an index that exists. Absent: each index of the store is created. */
	index?: string;
	/** The only index of a store with `binding` or `index`. */
	only?: StoreOwner;
}

/** An index of an account, by its name in this gateway. */
export interface StoreOwner {
	account: string;
	index: string;
}

export type StoreSetting = PgvectorSetting | QdrantSetting | VectorizeSetting;

export const STORE_KINDS = ["pgvector", "qdrant", "vectorize"] as const satisfies StoreSetting["kind"][];

/** The name of the store in the objects of this gateway, which always exists. */
export const BUILTIN = "builtin";

/** Which stores there are, and which one gets a new index. */
export interface StorePlacement {
	/** By their names, without {@link BUILTIN}. */
	stores: ReadonlyMap<string, StoreSetting>;
	/** By the names of indexes, in which `*` stands for any text. The first that fits decides. */
	patterns: readonly (readonly [pattern: string, store: string])[];
	/** Of the other indexes. */
	defaultStore: string;
}
