/** The stores of `VECTORS.stores`, as the configuration reads them. They contain secrets. */

export interface PgvectorSetting {
	kind: "pgvector";
	/** A Hyperdrive binding has the address of a pool of connections. */
	server: PostgresServer | { hyperdrive: { readonly connectionString: string } };
	/** The schema of all tables. */
	schema: string;
	/** Connections of a process at the same time. */
	maxConnections: number;
}

export interface PostgresServer {
	hostname: string;
	port: number;
	database: string;
	user: string;
	password: string;
	hasTls: boolean;
}

export type StoreSetting = PgvectorSetting;

export const STORE_KINDS = ["pgvector"] as const satisfies StoreSetting["kind"][];

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
