/**
 * Sessions of a PostgreSQL server. A socket belongs to the request or the object that opened it. So a session of a request has a connection of
 * its own, and a query in the registry of an account uses one that the registry keeps. A Hyperdrive binding has a pool of its own.
 */
import { hasPassed } from "../../../../core/elapsed.ts";
import { AiError } from "../../../../core/errors.ts";
import { own } from "../../../../core/own.ts";
import { Deadline } from "../../../../outbound/deadline.ts";
import { DATABASE_CALL } from "../../../../outbound/limits.ts";
import { indexNotFound } from "../../failures.ts";
import type { ExternalIndex, StoreServices } from "../external-store.ts";
import { storeFailed } from "../store-failed.ts";
import type { PgvectorSetting, PostgresServer } from "../store-settings.ts";
import { type RunSql, SqlConnection } from "./connection.ts";
import { KEEP_MS } from "./kept-connections.ts";
import { ConnectionPlaces } from "./places.ts";

/** The server has no free connection: the process looks again after this time. */
const RETRY_MS = 10;
/** A kept connection exists a little longer than its timer. */
const KEPT_FOR_MS = KEEP_MS + 1_000;
const NO_SIGNAL = new AbortController().signal;

type SessionServices = StoreServices & {
	/** Milliseconds of the session. */
	totalMs: number;
};

export class SqlConnections {
	readonly #setting: PgvectorSetting;
	readonly #places: ConnectionPlaces;

	constructor(setting: PgvectorSetting) {
		this.#setting = setting;
		this.#places = new ConnectionPlaces(setting.maxConnections);
	}

	get schema(): string {
		return this.#setting.schema;
	}

	get efSearch(): number {
		return this.#setting.efSearch;
	}

	/**
	 * Runs the queries of `work` in a connection. With `external.kept`, `work` only reads: it runs again in a new connection if the server has
	 * closed the kept one, as when it was restarted.
	 */
	async session<Value>(
		work: (run: RunSql) => Promise<Value>,
		external: ExternalIndex,
		services: SessionServices,
	): Promise<Value> {
		const first = external.kept?.take(this) ?? (await this.#open(external, services));
		try {
			return await this.#use(first, work, external, services);
		} catch (error) {
			if (!(error instanceof ConnectionLost)) throw error;
		}
		const { kept: _, ...fresh } = external;
		return this.#use(await this.#open(fresh, services), work, external, services);
	}

	/** Throws {@link ConnectionLost} only for a connection that was used before. */
	async #use<Value>(
		connection: SqlConnection,
		work: (run: RunSql) => Promise<Value>,
		{ index, kept, name, signal = NO_SIGNAL }: ExternalIndex,
		{ now, totalMs }: SessionServices,
	): Promise<Value> {
		const late = (ms: number) => storeFailed(name, `did not answer within ${ms} ms`);
		const deadline = new Deadline({ now, signal, totalMs, silent: late, late });
		const leave = () => connection.abort();
		signal.addEventListener("abort", leave, { once: true });
		connection.place.renew({ since: now(), ms: DATABASE_CALL.totalMs });
		connection.begin();
		try {
			deadline.expect(DATABASE_CALL.silentMs);
			const value = await deadline.race(
				work((text, ...values) => {
					deadline.expect(DATABASE_CALL.silentMs);
					return connection.run(text, ...values);
				}),
			);
			if (kept && this.#places.mayKeep(connection.place, now())) {
				connection.place.renew({ since: now(), ms: KEPT_FOR_MS });
				kept.put(this, connection);
			} else await connection.end();
			return value;
		} catch (error) {
			const isLost = connection.uses > 1 && !signal.aborted && (connection.isLost || endsConnection(error));
			connection.abort();
			throw isLost ? new ConnectionLost() : failureOf(error, name, index.name);
		} finally {
			signal.removeEventListener("abort", leave);
			deadline.close();
		}
	}

	/** Waits for a free place, or for a connection that is kept. */
	async #open(
		{ index, kept, name, signal = NO_SIGNAL }: ExternalIndex,
		{ connect, now, wait }: SessionServices,
	): Promise<SqlConnection> {
		const account = index.object.slice(0, index.object.lastIndexOf("/"));
		const start = now();
		for (;;) {
			const place = this.#places.take(account, { since: now(), ms: DATABASE_CALL.totalMs });
			if (place) return new SqlConnection({ server: this.#server(), name, connect, place });
			if (signal.aborted) throw new AiError("aborted");
			if (hasPassed(DATABASE_CALL.silentMs, start, now()))
				throw storeFailed(name, `has no free connection of its ${this.#places.max} (max_connections)`);
			await wait(RETRY_MS);
			const free = kept?.take(this);
			if (free) return free;
		}
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
}

/** A kept connection, before it has answered. */
class ConnectionLost extends Error {}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const SQLSTATE = /^[\dA-Z]{5}$/;
const GONE = new Set(["42P01", "3F000"]);
/** The server ends the connection: it stops, has crashed, or ends idle ones. */
const ENDED = new Set(["57P01", "57P02", "57P05", "25P03"]);
const PROBLEMS: Readonly<Record<string, string>> = {
	"28P01": "refuses the user or the password",
	"28000": "refuses the user",
	"3D000": "has no such database",
	"42501": "does not permit the operation to the user",
	"53300": "has too many connections",
	"0A000": "has no extension pgvector",
	"58P01": "has no extension pgvector",
};

const codeOf = (error: unknown): string =>
	error instanceof Error && "code" in error ? String(error.code) : "";

const endsConnection = (error: unknown): boolean => ENDED.has(codeOf(error));

/** A message of the server may contain values. */
function failureOf(error: unknown, name: string, index: string): AiError {
	if (error instanceof AiError) return error;
	const code = codeOf(error);
	if (GONE.has(code)) return indexNotFound(index);
	if (!SQLSTATE.test(code)) return storeFailed(name, "cannot be reached", error);
	return storeFailed(name, `${own(PROBLEMS, code) ?? "has refused a query"} (SQLSTATE ${code})`);
}
