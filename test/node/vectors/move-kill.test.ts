/** A move of an index whose gateway is killed while a write is on its way to the store. */
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { type ServedGateway, serveGateway } from "../../../tools/search/serve.ts";
import { startPostgres } from "./postgres.ts";

const VECTORS = 300;
/** Less than a call of a store may take. */
const RESUMED_MS = 60_000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The server behind a connection that can stop to hand on what clients send. */
async function stallingServer() {
	const postgres = await startPostgres();
	let isStalled = false;
	let received = 0;
	const sockets = new Set<Socket>();
	const proxy = createServer((client) => {
		const server = createConnection({ host: "127.0.0.1", port: postgres.port });
		for (const socket of [client, server]) {
			sockets.add(socket);
			socket.on("error", () => {});
		}
		client.on("data", (bytes) => {
			if (isStalled) received += bytes.length;
			else server.write(bytes);
		});
		client.on("close", () => server.destroy());
		server.pipe(client);
	});
	await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
	cleanups.push(async () => {
		for (const socket of sockets) socket.destroy();
		proxy.close();
		await postgres.stop();
	});
	return {
		port: (proxy.address() as AddressInfo).port,
		set isStalled(value: boolean) {
			isStalled = value;
		},
		get received() {
			return received;
		},
	};
}

it.each([1, 2])(
	"goes on within seconds after SIGKILL, and loses no confirmed write, with %i processes",
	async (workers) => {
		const server = await stallingServer();
		const state = mkdtempSync(join(tmpdir(), "ganglion-move-"));
		cleanups.push(() => rmSync(state, { recursive: true, force: true }));
		const port = await freePort();
		const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=disable`;
		const settings = {
			PG_PASSWORD: "unused",
			VECTORS: JSON.stringify({
				stores: { pg: { kind: "pgvector", url, key: "PG_PASSWORD", max_connections: 1 } },
				indexes: { docs: "pg" },
			}),
		};
		const options = ["--workers", String(workers)];
		let gateway: ServedGateway = await serveGateway(state, port, settings, options);
		cleanups.push(() => gateway.stop("SIGKILL"));
		const call = async (path: string, body?: object | string) => {
			const type = typeof body === "string" ? "application/x-ndjson" : "application/json";
			const response = await fetch(
				`http://127.0.0.1:${port}/client/v4/accounts/local/vectorize/v2/indexes${path}`,
				{
					method: body === undefined ? "GET" : "POST",
					...(body !== undefined && {
						headers: { "content-type": type },
						body: typeof body === "string" ? body : JSON.stringify(body),
					}),
				},
			);
			// biome-ignore lint/suspicious/noExplicitAny: the test compares it.
			const { result, errors } = (await response.json()) as any;
			if (!response.ok) throw new Error(`${path}: ${JSON.stringify(errors)}`);
			return result;
		};
		const line = (id: string, value: number) => JSON.stringify({ id, values: [value, 1] });
		await call("", { name: "docs", config: { dimensions: 2, metric: "euclidean" } });
		const ids = Array.from({ length: VECTORS }, (_, number) => `v${number}`);
		await call("/docs/upsert", ids.map((id, number) => line(id, number)).join("\n"));
		await call("/docs/upsert", line("v7", 700));

		// Everything waits for the server from here on, so the move and a write are under way at the kill.
		server.isStalled = true;
		await call("/docs/move", { store: "builtin" });
		const lost = call("/docs/upsert", line("v8", 800)).then(
			() => "confirmed",
			() => "lost",
		);
		await expect.poll(() => server.received, { timeout: 30_000 }).toBeGreaterThan(0);
		expect(await call("/docs/move")).toMatchObject({ status: "starting", store: "builtin" });
		await gateway.stop("SIGKILL");
		expect(await lost).toBe("lost");
		server.isStalled = false;

		gateway = await serveGateway(state, port, settings, options);
		await call("/docs/upsert", line("v9", 900));
		await expect
			.poll(async () => (await call("/docs/move")).status, { timeout: RESUMED_MS, interval: 200 })
			.toBe("completed");
		expect((await call("/docs/info")).vectorCount).toBe(VECTORS);
		const found = await call("/docs/get_by_ids", { ids: ["v6", "v7", "v9", `v${VECTORS - 1}`] });
		expect(found.map(({ id, values: [first] }: { id: string; values: number[] }) => [id, first])).toEqual([
			["v6", 6],
			["v7", 700],
			["v9", 900],
			[`v${VECTORS - 1}`, VECTORS - 1],
		]);
	},
	180_000,
);
