/** Which patterns attack at once. The runs of one seed take one part of the list after the other. */
import { Random } from "../random.ts";
import type { Pattern } from "./attacker.ts";

/** Patterns by which the gateway was stopped, filled or misled before. They are part of every attack. */
export const KNOWN_PATTERNS: ReadonlySet<string> = new Set([
	"slow body, invented token",
	"leaves before the header, passed to a provider",
	"leaves a stream, passed to a provider",
	"waits for a silent engine, passed to a provider",
	"tokens x gateways x resumable",
	"many gateways",
	"a revoked token",
	"a websocket, unread endless streams",
	"a websocket, unread large answers",
	"a small budget, prompts of 1 MB",
	"large prompts in logs",
	"large answers in a cache",
	"blocked by data-loss prevention",
	"buffers of guardrails",
	"buffers of data-loss prevention",
	"a hop loop",
	"a hop loop with a forged hop",
	"CONNECT",
	"one token beside invented ones",
]);

export interface Sample {
	/** Patterns at once. At least as many as are known. */
	count: number;
	seed: number;
	/** From 0. */
	run: number;
}

/** In the order of the list. */
export function sampled(patterns: readonly Pattern[], { count, seed, run }: Sample): Pattern[] {
	if (count >= patterns.length) return [...patterns];
	const others = shuffled(
		patterns.filter(({ name }) => !KNOWN_PATTERNS.has(name)),
		new Random(seed),
	);
	const free = count - KNOWN_PATTERNS.size;
	const chosen = new Set(Array.from({ length: free }, (_, i) => others[(run * free + i) % others.length]));
	return patterns.filter((pattern) => KNOWN_PATTERNS.has(pattern.name) || chosen.has(pattern));
}

/** Fisher and Yates. */
function shuffled<T>(list: T[], random: Random): T[] {
	for (let last = list.length - 1; last > 0; last--) {
		const other = random.int(0, last);
		[list[last], list[other]] = [list[other] as T, list[last] as T];
	}
	return list;
}
