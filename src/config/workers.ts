/** The other processes of the gateway, by their bindings. */
import { peerOf } from "../surfaces/operations/worker-reports.ts";
import type { Workers } from "../telemetry/workers.ts";
import type { Bindings } from "./bindings.ts";
import { PEER_BINDING, WORKERS_BINDING } from "./worker-bindings.ts";

/** `undefined`: this process is the only one. */
export function workersOf(bindings: Bindings): Workers | undefined {
	const { number } = bindings[WORKERS_BINDING] ?? {};
	if (number === undefined) return undefined;
	const sockets = Object.entries<unknown>({ ...bindings }).filter(([name]) => name.startsWith(PEER_BINDING));
	return {
		worker: String(number),
		peers: sockets.map(([name, socket]) => peerOf(name.slice(PEER_BINDING.length), socket as Fetcher)),
	};
}
