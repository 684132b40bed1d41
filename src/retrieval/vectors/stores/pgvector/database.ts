/**
 * Sessions of a PostgreSQL server. A socket belongs to the request that opened it, so each operation has a connection of its own. A pool
 * between both is a Hyperdrive binding, or PgBouncer.
 */
import postgres from "postgres";
import { AiError } from "../../../../core/errors.ts";
import { CallDeadline } from "../../../../outbound/deadline.ts";
import { connectOut, DriverSocket } from "../../../../outbound/driver-socket.ts";
import { DATABASE_CALL } from "../../../../outbound/limits.ts";
import { indexNotFound } from "../../failures.ts";
import { type ExternalIndex, type StoreServices, storeFailed } from "../external-store.ts";
import type { PgvectorSetting, PostgresServer } from "../store-settings.ts";

/** The values of `$1`, `$2` and so on. */
export type RunSql = <Row extends object>(
	text: string,
	...values: readonly (string | number | null)[]
) => Promise<Row[]>;

/** The server has no free connection: the process looks again after this time. */
const RETRY_MS = 10;
const SSL_REQUEST = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47]);
const SSL_ACCEPTED = 83;
const NO_SIGNAL = new AbortController().signal;

export class SqlConnections {
	readonly #setting: PgvectorSetting;
	/** Times after which a connection does not exist any more, whatever has happened to the request that opened it. */
	readonly #open = new Set<{ until: number }>();

	constructor(setting: PgvectorSetting) {
		this.#setting = setting;
	}

	get schema(): string {
		return this.#setting.schema;
	}

	get efSearch(): number {
		return this.#setting.efSearch;
	}

	/** Runs the queries of `work` in a connection. */
	async session<Value>(
		work: (run: RunSql) => Promise<Value>,
		{ index, name, signal = NO_SIGNAL }: ExternalIndex,
		{ totalMs, ...services }: StoreServices & { totalMs: number },
	): Promise<Value> {
		const release = await this.#admit(name, signal, services);
		const late = (ms: number) => storeFailed(name, `did not answer within ${ms} ms`);
		const deadline = new CallDeadline({ now: services.now, signal, totalMs, silent: late, late });
		const sql = postgres({ ...this.#driverOptions(name, deadline.signal, services) });
		try {
			deadline.expect(DATABASE_CALL.silentMs);
			return await deadline.race(
				work((text, ...values) => {
					deadline.expect(DATABASE_CALL.silentMs);
					return sql.unsafe(text, [...values]) as unknown as Promise<never[]>;
				}),
			);
		} catch (error) {
			deadline.abort(new AiError("aborted"));
			throw failureOf(error, name, index.name);
		} finally {
			release();
			await sql.end({ timeout: 0 }).catch(() => {});
			deadline.close();
		}
	}

	#driverOptions(name: string, signal: AbortSignal, services: StoreServices) {
		const server = this.#server();
		const { database, password, user } = server;
		let isOpened = false;
		return {
			...{ database, user, pass: password, host: server.hostname, port: server.port },
			max: 1,
			// The deadline ends a connection, and one that is lost is not opened again.
			...{ connect_timeout: 0, idle_timeout: 0, max_lifetime: null, keep_alive: null },
			...{ fetch_types: false, prepare: false, onnotice: () => {} },
			socket() {
				if (isOpened) throw storeFailed(name, "has closed the connection");
				isOpened = true;
				return openSocket(server, name, signal, services);
			},
		};
	}

	#server(): PostgresServer {
		const { server } = this.#setting;
		if (!("hyperdrive" in server)) return server;
		const url = new URL(server.hyperdrive.connectionString);
		return {
			...{ hostname: url.hostname, port: Number(url.port || 5432), hasTls: false },
			database: decodeURIComponent(url.pathname.slice(1)),
			user: decodeURIComponent(url.username),
			password: decodeURIComponent(url.password),
		};
	}

	/** Waits for a free connection. */
	async #admit(name: string, signal: AbortSignal, { now, wait }: StoreServices): Promise<() => void> {
		const { maxConnections } = this.#setting;
		const start = now();
		for (;;) {
			for (const one of this.#open) if (one.until < now()) this.#open.delete(one);
			if (this.#open.size < maxConnections) break;
			if (signal.aborted) throw new AiError("aborted");
			if (now() - start > DATABASE_CALL.silentMs)
				throw storeFailed(name, `has no free connection of its ${maxConnections} (max_connections)`);
			await wait(RETRY_MS);
		}
		const own = { until: now() + DATABASE_CALL.totalMs };
		const release = () => void this.#open.delete(own);
		this.#open.add(own);
		signal.addEventListener("abort", release, { once: true });
		return () => {
			signal.removeEventListener("abort", release);
			release();
		};
	}
}

async function openSocket(
	{ hasTls, hostname, port }: PostgresServer,
	name: string,
	signal: AbortSignal,
	{ connect }: StoreServices,
): Promise<DriverSocket> {
	const socket = connectOut({ connect, hostname, port, hasTls, signal });
	const secure = hasTls ? await startTls(socket, hostname, name) : socket;
	return new DriverSocket(secure, { signal, maxBytes: DATABASE_CALL.maxBytes });
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

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const SQLSTATE = /^[\dA-Z]{5}$/;
const GONE = new Set(["42P01", "3F000"]);
const PROBLEMS: Readonly<Record<string, string>> = {
	"28P01": "refuses the user or the password",
	"28000": "refuses the user",
	"3D000": "has no such database",
	"42501": "does not permit the operation to the user",
	"53300": "has too many connections",
	"0A000": "has no extension pgvector",
	"58P01": "has no extension pgvector",
};

/** A message of the server may contain values. */
function failureOf(error: unknown, name: string, index: string): AiError {
	if (error instanceof AiError) return error;
	const code = error instanceof Error && "code" in error ? String(error.code) : "";
	if (GONE.has(code)) return indexNotFound(index);
	if (!SQLSTATE.test(code)) return storeFailed(name, "cannot be reached", error);
	return storeFailed(name, `${PROBLEMS[code] ?? "has refused a query"} (SQLSTATE ${code})`);
}
