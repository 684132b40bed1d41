/** A connection of a PostgreSQL server. It belongs to the request or the object that opened it. */
import postgres from "postgres";
import { AiError } from "../../../../core/errors.ts";
import { type Connect, connectOut, DriverSocket } from "../../../../outbound/driver-socket.ts";
import { DATABASE_CALL } from "../../../../outbound/limits.ts";
import { storeFailed } from "../store-failed.ts";
import type { PostgresServer } from "../store-settings.ts";
import type { ConnectionPlace } from "./places.ts";

/** The values of `$1`, `$2` and so on. */
export type RunSql = <Row extends object>(
	text: string,
	...values: readonly (string | number | null)[]
) => Promise<Row[]>;

const SSL_REQUEST = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47]);
const SSL_ACCEPTED = 83;

interface ConnectionSetup {
	server: PostgresServer;
	/** The name of the store. */
	name: string;
	connect: Connect;
	/** Is free again when the connection is closed. */
	place: ConnectionPlace;
}

export class SqlConnection {
	readonly place: ConnectionPlace;
	/** Uses of the connection, with the current one. */
	uses = 0;
	/** The server has closed it, or the network has failed. */
	isLost = false;
	readonly #sql: postgres.Sql;
	readonly #controller = new AbortController();
	#socket: DriverSocket | undefined;
	#isClosed = false;

	constructor({ connect, name, place, server }: ConnectionSetup) {
		const { database, hostname: host, password: pass, port, user } = server;
		this.place = place;
		const open = async (): Promise<DriverSocket> => {
			if (this.#socket || this.#isClosed) throw storeFailed(name, "has closed the connection");
			this.#socket = await openSocket(server, { name, connect, signal: this.#controller.signal });
			this.#socket.once("close", () => this.#lost());
			return this.#socket;
		};
		this.#sql = postgres({
			...{ database, user, pass, host, port, max: 1 },
			// The deadline of a use ends a connection, and one that is lost is not opened again.
			...{ connect_timeout: 0, idle_timeout: 0, max_lifetime: null, keep_alive: null },
			...{ fetch_types: false, prepare: false, onnotice: () => {} },
			// An option that the types of the driver do not have.
			...{ socket: open },
		});
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Begins a use, in which the server may send {@link DATABASE_CALL.maxBytes}. */
	begin(): void {
		this.uses++;
		this.#socket?.restartCount();
	}

	readonly run: RunSql = (text, ...values) =>
		this.#sql.unsafe(text, [...values]) as unknown as Promise<never[]>;

	/** No query is running. Never rejects. */
	async end(): Promise<void> {
		if (!this.#close()) return;
		await this.#sql.end({ timeout: 0 }).catch(() => {});
		this.#controller.abort(new AiError("aborted"));
	}

	/** A query that is running rejects. */
	abort(): void {
		if (!this.#close()) return;
		this.#controller.abort(new AiError("aborted"));
		this.#sql.end({ timeout: 0 }).catch(() => {});
	}

	#lost(): void {
		if (!this.#close()) return;
		this.isLost = true;
		this.#sql.end({ timeout: 0 }).catch(() => {});
	}

	/** Returns whether it was open. */
	#close(): boolean {
		if (this.#isClosed) return false;
		this.#isClosed = true;
		this.place.release();
		return true;
	}
}

interface SocketSetup extends Pick<ConnectionSetup, "connect" | "name"> {
	signal: AbortSignal;
}

async function openSocket(
	{ hasTls, hostname, port }: PostgresServer,
	{ connect, name, signal }: SocketSetup,
): Promise<DriverSocket> {
	const socket = connectOut({ connect, hostname, port, hasTls, signal });
	const maxBytes = DATABASE_CALL.maxBytes;
	if (!hasTls) return new DriverSocket(socket, { signal, maxBytes });
	// A server may be silent before it accepts TLS.
	const close = () => void socket.close().catch(() => {});
	signal.addEventListener("abort", close, { once: true });
	const secure = await startTls(socket, hostname, name);
	signal.removeEventListener("abort", close);
	return new DriverSocket(secure, { signal, maxBytes });
}

/** https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL. The runtime verifies the certificate. */
async function startTls(socket: Socket, hostname: string, name: string): Promise<Socket> {
	const writer = socket.writable.getWriter();
	const reader = (socket.readable as ReadableStream<Uint8Array>).getReader();
	await writer.write(SSL_REQUEST);
	const { value } = await reader.read();
	writer.releaseLock();
	reader.releaseLock();
	if (value?.length === 1 && value[0] === SSL_ACCEPTED)
		return socket.startTls({ expectedServerHostname: hostname });
	await socket.close();
	throw storeFailed(name, "does not accept TLS");
}
