/** The kind `pgvector` behind the runtime's own Hyperdrive binding, as `wrangler dev` has it with `localConnectionString`. */
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isWasm, modulesIn } from "../../../miniflare/modules.ts";
import { DIST } from "../../../scripts/root.ts";
import { runtimeSettings } from "../../../scripts/settings.ts";
import { startPostgres } from "./postgres.ts";

const ROUTE = "http://localhost/client/v4/accounts/local/vectorize/v2/indexes";

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let miniflare: Miniflare;
beforeAll(async () => {
	postgres = await startPostgres();
	const { compatibilityDate, compatibilityFlags = [], objects = [] } = runtimeSettings();
	const worker = join(DIST, "worker");
	miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			name: "gateway",
			rootPath: worker,
			modulesRoot: worker,
			modules: modulesIn(worker).map(({ file: path, name }) => ({
				type: isWasm(name) ? ("CompiledWasm" as const) : ("ESModule" as const),
				path,
			})),
			...{ compatibilityDate, compatibilityFlags },
			durableObjects: Object.fromEntries(
				objects.map(({ class_name: className, name }) => [name, { className, useSQLite: true }]),
			),
			bindings: {
				ALLOW_ANONYMOUS: "true",
				DEFAULT_BACKEND: "simulator",
				VECTORS: {
					stores: { pg: { kind: "pgvector", hyperdrive: "HYPERDRIVE", max_connections: 1 } },
					default_store: "pg",
				},
			},
			hyperdrives: { HYPERDRIVE: `postgres://postgres:unused@127.0.0.1:${postgres.port}/postgres` },
		}),
	);
	await miniflare.ready;
});
afterAll(async () => {
	await miniflare?.dispose();
	await postgres?.stop();
});

async function call(path: string, body?: object | string) {
	const isLines = typeof body === "string";
	const response = await miniflare.dispatchFetch(`${ROUTE}${path}`, {
		method: body === undefined ? "GET" : "POST",
		...(body !== undefined && {
			headers: { "content-type": isLines ? "application/x-ndjson" : "application/json" },
			body: isLines ? body : JSON.stringify(body),
		}),
	});
	// biome-ignore lint/suspicious/noExplicitAny: the test compares it.
	return { status: response.status, ...((await response.json()) as any) };
}

it("stores and finds vectors through a Hyperdrive binding, whose host is not the database's", async () => {
	const { HYPERDRIVE } = await miniflare.getBindings<{ HYPERDRIVE: Hyperdrive }>();
	expect(HYPERDRIVE.connectionString).toMatch(/^postgres(ql)?:\/\//);
	const created = await call("", { name: "docs", config: { dimensions: 2, metric: "cosine" } });
	expect(created).toMatchObject({ status: 201, result: { store: "pg" } });
	await call("/docs/metadata_index/create", { propertyName: "kind", indexType: "string" });
	const lines = [
		{ id: "a", values: [1, 0], metadata: { kind: "x" } },
		{ id: "b", values: [0, 1], metadata: { kind: "y" } },
	];
	expect(await call("/docs/upsert", lines.map((line) => JSON.stringify(line)).join("\n"))).toMatchObject({
		success: true,
	});
	const { rows } = await postgres.db.query("SELECT schemaname FROM pg_tables WHERE schemaname = 'ganglion'");
	expect(rows.length).toBeGreaterThan(0);
	expect(await call("/docs/query", { vector: [1, 0.1], topK: 1, filter: { kind: "y" } })).toMatchObject({
		result: { count: 1, matches: [{ id: "b" }] },
	});
	expect(
		(await call("/docs/query", { vector: [1, 0.1] })).result.matches.map(({ id }: { id: string }) => id),
	).toEqual(["a", "b"]);
});
