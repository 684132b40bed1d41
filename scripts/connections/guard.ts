/**
 * Limits the connections to `workerd`, which exits if it has no file for a new connection. Connections are forwarded to the runtime's
 * Unix socket, byte by byte. What is beyond a limit gets an answer of the guard, or is closed.
 *
 * A connection with a place uses two files here and at least one in the runtime, a waiting one a single file here. The limits fit
 * both processes (src/config/capacity.ts).
 */
import { createServer, type Server } from "node:net";
import { bufferedBytesOf } from "../../src/config/capacity.ts";
import type { CountReport } from "../../src/core/shared-count.ts";
import { collectGarbage } from "../collect-garbage.ts";
import { socketBytesOf } from "./caller-frames.ts";
import type { ConnectionTimes } from "./connection-context.ts";
import { GuardedConnection } from "./guarded-connection.ts";
import { IdleTime } from "./idle-time.ts";
import { KnownCallers } from "./known-callers.ts";
import { Pace } from "./pace.ts";
import { type ClassCount, type ConnectionCounts, Places } from "./places.ts";
import { probeRuntime } from "./probe-runtime.ts";
import { sendCounts } from "./send-counts.ts";
import { WorkerChoice, type WorkerPair } from "./worker-choice.ts";

/** After this time without a byte the system checks whether the caller is still connected. */
const TCP_KEEP_ALIVE_MS = 60_000;
const CHECK_MS = 1_000;
const REPORT_MS = 5_000;
/** docs/security.md names them. Load balancers keep idle connections for 60 seconds, so `keepAliveMs` is longer. */
export const TIMES = {
	...{ firstByteMs: 10_000, requestMs: 10_000, keepAliveMs: 75_000, unreadMs: 15_000 },
	// The runtime closes a connection 5 seconds after its latest answer. The check of this time is up to a second late.
	runtimeIdleMs: 3_000,
};
/** Names of the metrics. The gateway counts the sockets itself. */
const COUNT_NAMES: Readonly<Record<string, string>> = {
	waiting: "waiting_connections",
	sockets: "socket_connections",
};

/** Where a guard reaches a worker. */
export interface GuardTarget {
	/** Its Unix socket. */
	target: string;
	/** That of its entrypoint `Connections`, which receives the counts every few seconds, and when to collect garbage. */
	countsSocket?: string | undefined;
	/** How many guards send requests to it. Default: 1. */
	guardCount?: number | undefined;
}

export interface GuardOptions extends Partial<ConnectionTimes>, GuardTarget {
	host: string;
	port: number;
	/** Another worker of the gateway. `serves`: the requests that it gets while one of both is behind (`worker-choice.ts`). */
	peer?: (GuardTarget & { serves: keyof WorkerPair }) | undefined;
	maxConnections: number;
	/** Of incomplete messages of websockets. */
	maxSocketBytes?: number;
	/** Longest time without a byte in either direction. Must be longer than any answer. */
	idleMs(): number;
	/** SHA-256 of the operator's token, in hexadecimal digits. Called several times for each request. Its requests may use the reserved places. */
	operatorHash?(): string | undefined;
	/** The gateway has accepted tokens that the guard did not know. SHA-256. */
	onNewTokens?(hashes: string[]): void;
	/** The time between two checks of all connections. */
	checkMs?: number;
}

export interface ConnectionGuard {
	server: Server;
	counts(): ConnectionCounts;
	callers: KnownCallers;
	pace: Pace;
}

/** Resolves when it listens. */
export function guardConnections({
	host,
	port,
	target,
	maxConnections,
	maxSocketBytes = bufferedBytesOf(0),
	operatorHash = () => undefined,
	checkMs = CHECK_MS,
	countsSocket,
	guardCount,
	peer,
	onNewTokens = () => {},
	...times
}: GuardOptions): Promise<ConnectionGuard> {
	const now = (): number => performance.now();
	const places = new Places(maxConnections, now);
	const pace = new Pace(now, { guardCount });
	const socketBytes = socketBytesOf(maxSocketBytes);
	const callers = new KnownCallers(operatorHash);
	const own = { target, pace };
	const peerWorker = peer && { target: peer.target, pace: new Pace(now, peer) };
	const pair =
		peerWorker &&
		(peer.serves === "small" ? { large: own, small: peerWorker } : { large: peerWorker, small: own });
	const paces = peerWorker ? [pace, peerWorker.pace] : [pace];
	const workers = new WorkerChoice({ own, pair, now });
	const context = {
		workers,
		places,
		socketBytes,
		callers,
		now,
		times: { ...TIMES, ...times },
		accept(hashes: readonly string[]): void {
			const added = callers.accept(hashes);
			if (added.length > 0) onNewTokens(added);
		},
	};
	const connections = new Set<GuardedConnection>();
	const settings = {
		allowHalfOpen: true,
		noDelay: true,
		keepAlive: true,
		keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
	};
	const server = createServer(settings, (caller) => {
		const connection = new GuardedConnection(caller, context);
		connections.add(connection);
		caller.once("close", () => connections.delete(connection));
	});
	const checks = setInterval(() => {
		for (const connection of connections) connection.check();
	}, checkMs).unref();
	const idleTime = new IdleTime();
	const reports = setInterval(() => {
		const isCollectionDue = idleTime.isCollectionDue(places);
		if (isCollectionDue) collectGarbage();
		if (countsSocket === undefined) return;
		const counts = [...reportsOf(places.counts()), Pace.report(paces, places.maxOpen), socketBytes.report()];
		sendCounts(countsSocket, { counts, separated: workers.report() }, { isCollectionDue });
	}, REPORT_MS).unref();
	const probes = [
		{ socket: countsSocket, pace },
		{ socket: peer?.countsSocket, pace: peerWorker?.pace },
	].flatMap(({ socket, pace }) => (socket && pace ? [probeRuntime(socket, pace, context)] : []));
	server.once("close", () => {
		for (const probe of probes) probe.stop();
		clearInterval(checks);
		clearInterval(reports);
	});
	server.maxConnections = places.maxOpen;
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, host, () => {
			server.off("error", reject);
			// If this process has no file left, the connection waits in the queue of the system.
			server.on("error", (error) => console.error(`A connection could not be accepted: ${error.message}`));
			resolve({ server, callers, pace, counts: () => places.counts() });
		});
	});
}

const reportsOf = (counts: ConnectionCounts): CountReport[] =>
	Object.entries(counts).map(([name, count]: [string, ClassCount]) => ({
		name: COUNT_NAMES[name] ?? name,
		...count,
	}));
