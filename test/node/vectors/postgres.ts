/**
 * A PostgreSQL server with pgvector in this process, and the runtime's `connect` on Node. The server has one session for all connections, so
 * only one of them may have a query at a time.
 */
import { createConnection, type Socket as NodeSocket } from "node:net";
import { Duplex } from "node:stream";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import type { Connect } from "../../../src/outbound/driver-socket.ts";

const MAX_CONNECTIONS = 20;

export async function startPostgres(): Promise<{ port: number; stop(): Promise<void>; db: PGlite }> {
	const db = await PGlite.create({ extensions: { vector } });
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
