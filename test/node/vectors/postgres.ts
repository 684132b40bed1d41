/**
 * A PostgreSQL server with pgvector in this process, and the runtime's `connect` on Node. The server has one session for all connections, so
 * only one of them may have a query at a time.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Socket as NodeSocket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { createSecureContext, TLSSocket } from "node:tls";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import type { Connect } from "../../../src/outbound/driver-socket.ts";
import { RUN_FOLDER } from "../../run-folder.ts";

const MAX_CONNECTIONS = 20;

export async function startPostgres(): Promise<{ port: number; stop(): Promise<void>; db: PGlite }> {
	const db = await emptyDatabase();
	const server = new PGLiteSocketServer({ db, port: 0, host: "127.0.0.1", maxConnections: MAX_CONNECTIONS });
	await server.start();
	const port = Number(server.getServerConn().split(":").at(-1));
	return {
		...{ db, port },
		async stop() {
			await server.stop();
			await db.close();
		},
	};
}

/** The processes of a run load what the first has made: `initdb` takes four times as long. */
async function emptyDatabase(): Promise<PGlite> {
	const folder = process.env[RUN_FOLDER];
	if (folder === undefined) return PGlite.create({ extensions: { vector } });
	const file = join(folder, "empty-database.tar");
	if (existsSync(file))
		return PGlite.create({ extensions: { vector }, loadDataDir: new Blob([readFileSync(file)]) });
	const db = await PGlite.create({ extensions: { vector } });
	const files = await db.dumpDataDir("none");
	// Another process may make it at the same time.
	const partial = `${file}.${process.pid}`;
	writeFileSync(partial, Buffer.from(await files.arrayBuffer()));
	renameSync(partial, file);
	return db;
}

export const connectOnNode: Connect = ({ hostname, port }) => {
	const socket: NodeSocket = createConnection({ host: hostname, port });
	const { readable, writable } = Duplex.toWeb(socket);
	const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
	return {
		...{ readable, writable, closed, opened: closed },
		async close() {
			socket.destroy();
		},
	} as unknown as Socket;
};

/** A proxy before the server at `port`, which counts connections, and can lose or stall them. */
export async function startProxy(port: number) {
	const pairs = new Set<readonly [NodeSocket, NodeSocket]>();
	let opened = 0;
	const server = createServer((socket) => {
		opened++;
		const pair = [socket, createConnection({ host: "127.0.0.1", port })] as const;
		pairs.add(pair);
		const end = () => {
			pairs.delete(pair);
			for (const one of pair) one.destroy();
		};
		for (const one of pair) one.on("error", end).on("close", end);
		socket.pipe(pair[1]).pipe(socket);
	});
	await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
	const lose = () => {
		for (const [socket] of pairs) socket.destroy();
	};
	return {
		port: (server.address() as AddressInfo).port,
		/** Connections since the start. */
		opened: () => opened,
		/** Connections now. */
		open: () => pairs.size,
		lose,
		/** Answers of the open connections do not arrive any more. */
		stall() {
			for (const [socket, behind] of pairs) behind.unpipe(socket);
		},
		stop() {
			lose();
			server.close();
		},
	};
}

/** A server with TLS before the one at `port`, with the certificate of `test/fixtures/tls` for "localhost". */
export async function startTls(port: number): Promise<{ port: number; stop(): void; encrypted(): number }> {
	const sockets = new Set<NodeSocket>();
	const secureContext = createSecureContext({
		cert: readFileSync("test/fixtures/tls/server.pem"),
		key: readFileSync("test/fixtures/tls/server.key"),
	});
	let encrypted = 0;
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
		// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SSLREQUEST
		socket.once("readable", () => {
			const request: Buffer | null = socket.read(8);
			if (request?.readInt32BE(4) !== 80_877_103) return void socket.destroy();
			socket.write("S");
			const secure = new TLSSocket(socket, { isServer: true, secureContext });
			secure.once("secure", () => encrypted++);
			const behind = createConnection({ host: "127.0.0.1", port });
			for (const [one, other] of [
				[secure, behind],
				[behind, secure],
			] as const) {
				one.on("error", () => other.destroy());
				one.pipe(other);
			}
		});
	});
	await new Promise<void>((done) => server.listen(0, "localhost", done));
	return {
		port: (server.address() as AddressInfo).port,
		encrypted: () => encrypted,
		stop() {
			for (const socket of sockets) socket.destroy();
			server.close();
		},
	};
}
