/** A PostgreSQL server that always sends something, and never all of an answer. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import type { ExternalIndex, StoreServices } from "../../../src/retrieval/vectors/stores/external-store.ts";
import { SqlConnections } from "../../../src/retrieval/vectors/stores/pgvector/database.ts";
import { connectOnNode } from "./postgres.ts";
import { AUTHENTICATED, message, READY } from "./scripted-postgres.ts";

/** Much longer than two pieces are apart, and much shorter than a silence may be. */
const TOTAL_MS = 600;
const PIECE_MS = 20;

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(() => {
	for (const socket of sockets) socket.destroy();
	server?.close();
});

/** A notice, which may come at any time. */
const NOTICE = message("N", Buffer.from("SNOTICE\0C00000\0Mstill here\0\0", "latin1"));

/** `answer`: to each query. Returns the port. */
async function serve(
	answer: (socket: Socket) => Promise<void>,
): Promise<{ port: number; closed: Promise<void> }> {
	const { promise: closed, resolve } = Promise.withResolvers<void>();
	server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {}).once("close", () => resolve());
		socket.once("data", () => {
			socket.write(Buffer.concat([AUTHENTICATED, READY]));
			socket.once("data", () => void answer(socket));
		});
	});
	await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
	return { port: (server.address() as AddressInfo).port, closed };
}

const TRICKLES: Record<string, (socket: Socket) => Promise<void>> = {
	async "complete messages without an end"(socket) {
		for (; !socket.destroyed; await wait(PIECE_MS)) socket.write(NOTICE);
	},
	async "one message byte by byte"(socket) {
		const long = message("N", Buffer.alloc(1_000_000, "x"));
		for (let at = 0; !socket.destroyed; await wait(PIECE_MS)) socket.write(long.subarray(at, ++at));
	},
};

it.each(Object.entries(TRICKLES))(
	"%s: a session ends after its total time, with its connection",
	async (_, answer) => {
		const { closed, port } = await serve(answer);
		const connections = new SqlConnections({
			...{ kind: "pgvector", schema: "public", maxConnections: 1, efSearch: 100 },
			server: { hostname: "127.0.0.1", port, hasTls: false, user: "u", password: "p", database: "d" },
		} as ConstructorParameters<typeof SqlConnections>[0]);
		const services = {
			...{ connect: connectOnNode, now: () => performance.now(), wait },
		} as unknown as StoreServices;
		const index = { name: "pg", index: { name: "docs", object: "local/x" } } as unknown as ExternalIndex;
		const query = () =>
			connections.session((run) => run("SELECT 1"), index, { ...services, totalMs: TOTAL_MS });
		const start = performance.now();
		await expect(query()).rejects.toThrow(`did not answer within ${TOTAL_MS} ms`);
		expect(performance.now() - start).toBeLessThan(10 * TOTAL_MS);
		await closed;
		// The only connection is free again.
		await expect(query()).rejects.toThrow(`did not answer within ${TOTAL_MS} ms`);
	},
);
