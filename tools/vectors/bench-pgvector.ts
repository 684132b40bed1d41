/**
 * `npm run bench:pgvector`: queries of an index of the kind `pgvector` over REST, in turn with the same queries sent to the server directly, on a
 * connection that stays open. The vectors are in clusters. The index is built after the upload, as `CREATE INDEX` is faster for many rows.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import postgres from "postgres";
import { readOptions } from "../../scripts/options.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { tablesOf } from "../../src/retrieval/vectors/stores/pgvector/schema.ts";
import { search } from "../../src/retrieval/vectors/stores/pgvector/search.ts";
import { quantile } from "../bench/statistics.ts";
import { serveGateway } from "../search/serve.ts";
import { clusteredVectors, exactNearest } from "./clustered-vectors.ts";

const DIMENSIONS = 768;
const TOP_K = 10;
const SCHEMA = "ganglion_bench";
const UPLOADED_AT_ONCE = 1_000;
const DIGITS = 6;
const WARM_UP_QUERIES = 30;
const QUERIES = 128;
/** The default of the setting. */
const DEFAULT_EF_SEARCH = 100;

const options = readOptions(
	{
		database: { type: "string" },
		state: { type: "string", default: join(tmpdir(), "ganglion-bench-pgvector") },
		vectors: { type: "string", default: "100000" },
		ef: { type: "string", default: String(DEFAULT_EF_SEARCH) },
		rounds: { type: "string", default: "3" },
	},
	`npm run bench:pgvector -- --database URL [options]

  --database URL  postgres://user:password@host:5432/database, with "?sslmode=disable" for a server without TLS
  --state DIR     the state of the gateway (in the folder for temporary files). A second run uses its index again
  --vectors N     vectors with ${DIMENSIONS} dimensions (100000)
  --ef N          ef_search (${DEFAULT_EF_SEARCH})
  --rounds N      (3)

It writes into the schema "${SCHEMA}". Delete it and DIR at the end.`,
);
if (!options.database) stopWith("--database is missing: see --help");
const url = new URL(options.database);
const password = decodeURIComponent(url.password);
url.password = "";
const count = Number(options.vectors);
const efSearch = Number(options.ef);
const folder = resolve(options.state);
mkdirSync(folder, { recursive: true });

const ssl = url.searchParams.get("sslmode") === "disable" ? false : "verify-full";
const sql = postgres(options.database.replace(/\?.*$/, ""), { ssl, max: 1, prepare: false, onnotice() {} });
const run = (text: string, ...values: readonly (string | number | null)[]) =>
	sql.unsafe(text, [...values]) as unknown as Promise<never[]>;

const gateway = await serveGateway(folder, undefined, {
	PG_PASSWORD: password || "none",
	VECTORS: JSON.stringify({
		stores: {
			pg: { kind: "pgvector", url: url.href, key: "PG_PASSWORD", schema: SCHEMA, ef_search: efSearch },
		},
		max_bytes: 20_000_000_000,
	}),
});

// biome-ignore lint/suspicious/noExplicitAny: the callers know the results.
async function call(path: string, body: object | string): Promise<any> {
	const response = await fetch(`${gateway.url}/client/v4/accounts/local/vectorize/v2/indexes${path}`, {
		method: "POST",
		headers: { "content-type": typeof body === "string" ? "application/x-ndjson" : "application/json" },
		body: typeof body === "string" ? body : JSON.stringify(body),
	});
	if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`);
	return ((await response.json()) as { result: unknown }).result;
}

/** All digits would be three times as many bytes. */
const rounded = (values: Float32Array): number[] => [...values].map((value) => Number(value.toFixed(DIGITS)));

/** In the state: the index, with its name in the store. */
interface FilledIndex {
	name: string;
	collection: string;
	vectors: number;
}

async function filled(vectors: readonly Float32Array[]): Promise<FilledIndex> {
	const known = join(folder, "bench.json");
	if (existsSync(known)) {
		const found: FilledIndex = JSON.parse(readFileSync(known, "utf8"));
		if (found.vectors === count) return found;
		throw new Error(`the index of --state has ${found.vectors} vectors`);
	}
	await run(`DROP SCHEMA IF EXISTS "${SCHEMA}" CASCADE`);
	// An earlier run may have failed.
	const name = `bench-${Date.now()}`;
	await call("", { name, config: { dimensions: DIMENSIONS, metric: "cosine" }, store: "pg" });
	const [built] = await sql<{ name: string; indexdef: string; tablename: string }[]>`
		SELECT indexname AS name, indexdef, tablename FROM pg_indexes
		WHERE schemaname = ${SCHEMA} AND indexdef LIKE '%USING hnsw%'`;
	if (!built) throw new Error("the table of the index has no HNSW index");
	await run(`DROP INDEX "${SCHEMA}"."${built.name}"`);
	for (let start = 0; start < count; start += UPLOADED_AT_ONCE) {
		const lines = vectors
			.slice(start, start + UPLOADED_AT_ONCE)
			.map((values, at) =>
				JSON.stringify({ id: String(start + at), values: rounded(values), metadata: { page: start + at } }),
			);
		await call(`/${name}/upsert`, lines.join("\n"));
		process.stderr.write(`\ruploaded ${Math.min(count, start + UPLOADED_AT_ONCE)}`);
	}
	process.stderr.write("\nbuilding the HNSW index\n");
	await run(
		`SET maintenance_work_mem = '1500MB'; ${built.indexdef}; ANALYZE "${SCHEMA}"."${built.tablename}"`,
	);
	const collection = built.tablename.replace("vectors_", "");
	const index: FilledIndex = { name, collection, vectors: count };
	writeFileSync(known, JSON.stringify(index));
	return index;
}

const took = async (work: () => Promise<unknown>): Promise<number> => {
	const begun = performance.now();
	await work();
	return performance.now() - begun;
};
const shown = (times: readonly number[]): string =>
	`p50 ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms`;

async function measure(): Promise<void> {
	const vectors = clusteredVectors({ count, dimensions: DIMENSIONS, seed: 7 });
	const { collection, name } = await filled(vectors);
	const queries = clusteredVectors({ count: QUERIES, dimensions: DIMENSIONS, seed: 99 });
	const searched = {
		tables: tablesOf(SCHEMA, collection),
		metric: "cosine",
		vectors: count,
		properties: [],
		efSearch,
	} as const;
	const direct = (vector: Float32Array<ArrayBuffer>) =>
		search(run, { vector, topK: TOP_K, filter: [], returnValues: false, returnMetadata: "none" }, searched);
	const byGateway = (vector: Float32Array<ArrayBuffer>): Promise<{ matches: { id: string }[] }> =>
		call(`/${name}/query`, { vector: [...vector], topK: TOP_K });

	for (const query of queries.slice(0, WARM_UP_QUERIES)) {
		await byGateway(query);
		await direct(query);
	}
	for (let round = 1; round <= Number(options.rounds); round++) {
		const times = { gateway: [] as number[], direct: [] as number[] };
		for (const query of queries) {
			times.gateway.push(await took(() => byGateway(query)));
			times.direct.push(await took(() => direct(query)));
		}
		console.log(
			`${count} x ${DIMENSIONS}, ef_search ${efSearch}: gateway ${shown(times.gateway)}; direct ${shown(times.direct)}; load ${loadavg()[0]?.toFixed(1)}`,
		);
	}
	let found = 0;
	for (const query of queries) {
		const exact = new Set(exactNearest(vectors, query, TOP_K));
		const { matches } = await byGateway(query);
		found += matches.filter(({ id }) => exact.has(Number(id))).length;
	}
	console.log(`recall@${TOP_K} ${(found / (QUERIES * TOP_K)).toFixed(4)} of ${QUERIES} queries`);
}

try {
	await measure();
} finally {
	await gateway.stop();
	await sql.end();
}
