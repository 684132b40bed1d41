/** `VECTORS` */
import { expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";

const read = (VECTORS: object, env: object = {}) =>
	configure({ ALLOW_ANONYMOUS: "true", PG_PASSWORD: "a-secret-password", VECTORS, ...env }).vectors;
const url = "postgres://user@db.example.com/app";

it("reads stores, and which indexes are in them", () => {
	const { placement, ...others } = read({
		stores: { pg: { kind: "pgvector", url: `${url}?sslmode=disable`, key: "PG_PASSWORD" } },
		indexes: { "docs-*": "pg", notes: "builtin" },
		default_store: "pg",
	});
	const prices = { millionQueriedDimensions: 0, hundredMillionStoredDimensions: 0 };
	expect(others).toEqual({ delayMs: 0, maxBytes: 2_000_000_000, maxIndexes: 100, prices });
	expect(placement.patterns).toEqual([
		["docs-*", "pg"],
		["notes", "builtin"],
	]);
	expect(placement.defaultStore).toBe("pg");
	expect(placement.stores.get("pg")).toEqual({
		...{ kind: "pgvector", schema: "ganglion", maxConnections: 10, efSearch: 100 },
		server: {
			...{ hostname: "db.example.com", port: 5432, database: "app", user: "user" },
			...{ password: "a-secret-password", hasTls: false },
		},
	});
});

it("has TLS, unless the address refuses it", () => {
	const { placement } = read({ stores: { pg: { kind: "pgvector", url, key: "PG_PASSWORD" } } });
	expect(placement.stores.get("pg")).toMatchObject({ server: { hasTls: true } });
});

it("reads a Hyperdrive binding", () => {
	const HYPERDRIVE = { connectionString: "postgres://u:p@x.hyperdrive.local:5432/app" };
	const { placement } = read(
		{ stores: { pg: { kind: "pgvector", hyperdrive: "HYPERDRIVE" } } },
		{ HYPERDRIVE },
	);
	expect(placement.stores.get("pg")).toMatchObject({ server: { hyperdrive: HYPERDRIVE } });
});

it.each<[string, object, string]>([
	[
		"a password in the address",
		{ stores: { pg: { kind: "pgvector", url: "postgres://user:hidden@host/app" } } },
		"VECTORS.stores.pg.url: expected an address without a password, which belongs into the secret of `key`, found another text",
	],
	[
		"another address",
		{ stores: { pg: { kind: "pgvector", url: "https://host" } } },
		'VECTORS.stores.pg.url: expected an address such as "postgres://user@host:5432/database", found another text',
	],
	[
		"another parameter",
		{ stores: { pg: { kind: "pgvector", url: `${url}?sslmode=prefer` } } },
		"VECTORS.stores.pg.url: expected no parameter but sslmode: disable, require, verify-full, found another text",
	],
	[
		"no server",
		{ stores: { pg: { kind: "pgvector" } } },
		"VECTORS.stores.pg: expected either url with key, or hyperdrive",
	],
	[
		"a secret that is not set",
		{ stores: { pg: { kind: "pgvector", url, key: "OTHER_PASSWORD" } } },
		"VECTORS.stores.pg.key: expected the name of a secret that is set, found OTHER_PASSWORD, which is not set",
	],
	[
		"a schema that would need quotes",
		{ stores: { pg: { kind: "pgvector", url, schema: 'a"; DROP' } } },
		"VECTORS.stores.pg.schema: expected up to 63 lower-case letters, digits and '_', found another text",
	],
	[
		"the name of the own store",
		{ stores: { builtin: { kind: "pgvector", url } } },
		'VECTORS.stores.builtin: expected another name: "builtin" is the store in this gateway',
	],
	[
		"an unknown store of a pattern",
		{ indexes: { "docs-*": "pg" } },
		'VECTORS.indexes["docs-*"]: expected "builtin", found "pg"',
	],
	["an unknown default", { default_store: "pg" }, 'VECTORS.default_store: expected "builtin", found "pg"'],
])("refuses %s", (_, vectors, problem) => {
	expect(() => read(vectors)).toThrow(problem);
	expect(() => read(vectors)).not.toThrow("hidden");
});

const account = "0123456789abcdef0123456789abcdef";

it("reads a Qdrant server and hosted indexes", () => {
	const HOSTED = { queryById: async () => ({}) };
	const { placement } = read(
		{
			stores: {
				q: { kind: "qdrant", url: "https://q.example.com:6333/", key: "QDRANT_KEY" },
				all: { kind: "vectorize", account, key: "HOSTED_TOKEN" },
				one: { kind: "vectorize", binding: "HOSTED", only: "team-a/docs" },
			},
		},
		{ QDRANT_KEY: "q-secret", HOSTED_TOKEN: "h-secret", HOSTED },
	);
	expect(placement.stores.get("q")).toEqual({
		...{ kind: "qdrant", url: "https://q.example.com:6333", prefix: "ganglion_", apiKey: "q-secret" },
	});
	const url = "https://api.cloudflare.com/client/v4";
	expect(placement.stores.get("all")).toEqual({
		kind: "vectorize",
		account: { url, id: account, token: "h-secret" },
	});
	expect(placement.stores.get("one")).toEqual({
		...{ kind: "vectorize", binding: HOSTED, only: { account: "team-a", index: "docs" } },
	});
});

it.each([
	[{ kind: "qdrant", url: "https://user:pass@q.example.com" }, "without credentials"],
	[{ kind: "qdrant", url: "https://q.example.com", prefix: "a/b" }, "stores.x.prefix"],
	[{ kind: "vectorize" }, "expected account with key, or binding"],
	[{ kind: "vectorize", account }, "expected account and key together"],
	[{ kind: "vectorize", account: "team", key: "HOSTED_TOKEN" }, "32 hexadecimal digits"],
	[{ kind: "vectorize", account, key: "HOSTED_TOKEN", index: "docs" }, "expected only: the account"],
	[{ kind: "vectorize", account, key: "HOSTED_TOKEN", only: "a/b" }, "expected binding or index with only"],
	[{ kind: "vectorize", binding: "HOSTED_TOKEN", only: "a/b" }, "the name of a Vectorize binding"],
	[{ kind: "vectorize", binding: "HOSTED", account, key: "HOSTED_TOKEN", only: "a/b" }, "expected index:"],
	[{ kind: "milvus", url: "https://m.example.com" }, "stores.x.kind"],
])("refuses the store %j", (store, message) => {
	const HOSTED = { queryById: async () => ({}) };
	expect(() => read({ stores: { x: store } }, { HOSTED_TOKEN: "h-secret", HOSTED })).toThrow(message);
});
