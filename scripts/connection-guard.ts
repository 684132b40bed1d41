/**
 * Limits the connections to `workerd`, which exits if it has no file for a new connection. Connections up to a maximum are
 * forwarded to the runtime's Unix socket, byte by byte. Others get 503.
 *
 * Each connection uses two files here and at least one in the runtime. The maximum fits both (src/config/capacity.ts).
 */
import { createConnection, createServer, type Server, type Socket } from "node:net";

/** Time for the first byte of a request. */
const FIRST_BYTE_MS = 10_000;
/** After this time without a byte the system checks whether the caller is still connected. */
const KEEP_ALIVE_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Time for a refused caller to read the response. */
const REFUSED_MS = 1_000;
/** Refused callers who read slowly use files too. Above this number, connections are closed without a response. */
const maxRefused = (maxConnections: number): number => 2 * maxConnections;

const BODY = JSON.stringify({
	result: null,
	success: false,
	errors: [{ code: 3040, message: "Capacity temporarily exceeded, please try again." }],
	messages: [],
});
const REFUSAL = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

export interface GuardOptions {
	host: string;
	port: number;
	/** The runtime's socket. */
	target: string;
	maxConnections: number;
	/**
	 * Longest time without a byte in either direction. Must be longer than any answer. The runtime itself closes idle
	 * connections, and those whose headers are not complete in time.
	 */
	idleMs(): number;
	firstByteMs?: number;
}

/** Resolves when it listens. */
export function guardConnections({
	host,
	port,
	target,
	maxConnections,
	idleMs,
	firstByteMs = FIRST_BYTE_MS,
}: GuardOptions): Promise<Server> {
	let open = 0;
	const settings = {
		allowHalfOpen: true,
		noDelay: true,
		keepAlive: true,
		keepAliveInitialDelay: KEEP_ALIVE_MS,
	};
	const server = createServer(settings, (caller) => {
		caller.on("error", () => caller.destroy());
		if (open >= maxConnections) return refuse(caller);
		open++;
		caller.once("close", () => open--);
		pass(caller, { target, idleMs, firstByteMs });
	});
	server.maxConnections = maxConnections + maxRefused(maxConnections);
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, host, () => {
			server.off("error", reject);
			// If this process has no file left, the connection waits in the queue of the system.
			server.on("error", (error) => console.error(`A connection could not be accepted: ${error.message}`));
			resolve(server);
		});
	});
}

function refuse(caller: Socket): void {
	caller.end(REFUSAL);
	caller.resume();
	caller.once("end", () => caller.destroy());
	setTimeout(() => caller.destroy(), REFUSED_MS).unref();
}

/**
 * Connects to the runtime at the first byte: a silent caller uses no resources of the runtime.
 *
 * A caller that ends its side has left, as servers of Node, Go and nginx also assume. The runtime's connection is closed, which cancels the
 * request. The end alone would not, because the runtime accepts a half-open connection.
 */
function pass(
	caller: Socket,
	{ target, idleMs, firstByteMs }: { target: string; idleMs(): number; firstByteMs: number },
): void {
	caller.setTimeout(firstByteMs, () => caller.destroy());
	caller.once("readable", () => {
		const runtime = createConnection({ path: target, allowHalfOpen: true });
		const end = (): void => {
			caller.destroy();
			runtime.destroy();
		};
		runtime.once("error", end);
		runtime.once("close", end);
		caller.once("end", end);
		caller.once("close", end);
		caller.setTimeout(Math.min(idleMs(), LONGEST_TIMER_MS));
		caller.pipe(runtime);
		runtime.pipe(caller);
	});
}
