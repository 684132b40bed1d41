/** A request in progress at a replica. */
import type { Replica } from "./replica.ts";

/** What an engine counted at the end of a request. */
export interface FlightUsage {
	inputTokens: number;
	/** Absent: the engine does not report it. */
	cachedTokens?: number;
	outputTokens: number;
}

/** One request in progress. */
export interface Flight {
	readonly replica: Replica;
	firstToken(now: number): void;
	/** The request has ended, in any way. Only the first end counts. `usage`: absent if it failed. */
	end(now: number, usage?: FlightUsage): void;
}
