/** What all connections of a guard have in common. */
import type { SharedCount } from "../../src/core/shared-count.ts";
import type { KnownCallers } from "./known-callers.ts";
import type { Places } from "./places.ts";
import type { WorkerChoice } from "./worker-choice.ts";

export interface ConnectionTimes {
	/** For the first byte of a connection. */
	firstByteMs: number;
	/** For the head of a request and the first bytes of its body, from its first byte. */
	requestMs: number;
	/** Between two requests. */
	keepAliveMs: number;
	/** Between two requests, for the connection to the runtime. */
	runtimeIdleMs: number;
	/** A websocket whose caller has not read for so long is closed. */
	unreadMs: number;
	/** Longest time without a byte in either direction. Must be longer than any answer. */
	idleMs(): number;
}

export interface ConnectionContext {
	workers: WorkerChoice;
	places: Places;
	/** Of incomplete messages of websockets, by address. */
	socketBytes: SharedCount;
	callers: KnownCallers;
	times: ConnectionTimes;
	now(): number;
}
