/**
 * The process of the attackers, with their engine. It has a lower priority than the gateway, because its work is not the gateway's. The
 * soak sends it an attack and receives the tallies.
 */
import { getPriority, setPriority } from "node:os";
import { Attacker, type Pattern, type Target } from "./attacker.ts";
import { startHostileEngine } from "./engine.ts";
import { PATTERNS } from "./patterns/index.ts";
import { ranShare, scheduleOf } from "./schedule.ts";

/** What the soak sends. */
export interface AttackOrder {
	target: Target;
	/** Names of patterns. */
	patterns: readonly string[];
	/** Attackers of each pattern. */
	attackers: number;
	milliseconds: number;
}

/** Results by pattern: numbers of statuses, and of connections without one. */
export type Tallies = Record<string, Record<string, number>>;

export interface AttackResult {
	tallies: Tallies;
	/** The part of the time with work in which the attackers ran. */
	ran: number;
	/** Patterns that never opened a connection. */
	unopened: string[];
}

export type AttackReport = { engine: string } | AttackResult;

const THREAD = "/proc/thread-self";
/** Below the gateway: they have a fifth of the time of a core for which both are ready. */
const LOWER_PRIORITY = 7;
/** Between two attempts of one attacker. */
const PAUSE_MS = 100;

setPriority(getPriority() + LOWER_PRIORITY);
const report = (message: AttackReport): void => void process.send?.(message);
process.on("message", async (order: AttackOrder) => report(await attack(order)));
process.on("disconnect", () => process.exit(0));
report({ engine: await startHostileEngine() });

async function attack({ target, patterns, attackers, milliseconds }: AttackOrder): Promise<AttackResult> {
	const tallies: Tallies = {};
	const signal = AbortSignal.timeout(milliseconds);
	const before = scheduleOf(THREAD);
	const opened = new Set<string>();
	const all = PATTERNS.filter(({ name }) => patterns.includes(name)).flatMap((pattern, index) =>
		Array.from({ length: attackers }, (_, i) =>
			repeat(pattern, { target, first: index * attackers + i + 1, signal, tallies, opened }),
		),
	);
	await Promise.all(all);
	const ran = ranShare(before, scheduleOf(THREAD));
	return { tallies, ran, unopened: patterns.filter((name) => !opened.has(name)) };
}

interface Repetition {
	target: Target;
	/** The number of the attacker. */
	first: number;
	signal: AbortSignal;
	tallies: Tallies;
	/** Patterns that have opened a connection. */
	opened: Set<string>;
}

async function repeat(pattern: Pattern, repetition: Repetition): Promise<void> {
	const { target, first, signal, tallies, opened } = repetition;
	const results = tallies[pattern.name] ?? {};
	tallies[pattern.name] = results;
	const attacker = new Attacker(target, first, signal, {
		opened: () => opened.add(pattern.name),
		ended: (result) => {
			results[result] = (results[result] ?? 0) + 1;
		},
	});
	while (!signal.aborted) {
		await attacker.attempt(pattern);
		await attacker.hold(PAUSE_MS);
	}
}
