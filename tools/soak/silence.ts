/**
 * The silence of an engine in a stream. On a slow machine the engine may send the next event in the moment in which the gateway stops waiting
 * for it: the engine shares its process with the callers, and notices late that its call has ended. The gateway cannot bill that event.
 */
import type { EngineCall } from "./engine.ts";
import { CLOCKS_MS, SILENCE_MS } from "./settings.ts";

/** From a write of the engine to its read by the gateway, with the difference between their clocks. */
const READ_MS = 350;

/**
 * Whether the gateway stopped waiting at `endedAt`, when it had read `events` events: the engine had sent nothing for the time limit, and what it
 * sent next was not there to be read.
 */
export function wasSilentAfter(
	{ concludedAt = Number.POSITIVE_INFINITY, openedAt, sentAt }: EngineCall,
	events: number,
	endedAt: number,
): boolean {
	const lastAt = sentAt[events - 1] ?? openedAt;
	const nextAt = sentAt[events] ?? concludedAt;
	return endedAt - lastAt >= SILENCE_MS - CLOCKS_MS && nextAt >= endedAt - READ_MS;
}
