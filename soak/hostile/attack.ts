/**
 * The process of the attackers, with their engine. It has a lower priority than the gateway, because its work is not the gateway's. The
 * soak sends it an attack and receives the tallies.
 */
import { setPriority } from "node:os";
import { Attacker, type Pattern, type Target } from "./attacker.ts";
import { startHostileEngine } from "./engine.ts";
import { PATTERNS } from "./patterns/index.ts";

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

export type AttackReport = { engine: string } | { tallies: Tallies };

const PRIORITY = 5;
/** Between two attempts of one attacker. */
const PAUSE_MS = 100;

setPriority(PRIORITY);
const report = (message: AttackReport): void => void process.send?.(message);
process.on("message", async (order: AttackOrder) => report({ tallies: await attack(order) }));
process.on("disconnect", () => process.exit(0));
report({ engine: await startHostileEngine() });

async function attack({ target, patterns, attackers, milliseconds }: AttackOrder): Promise<Tallies> {
	const tallies: Tallies = {};
	const signal = AbortSignal.timeout(milliseconds);
	const all = PATTERNS.filter(({ name }) => patterns.includes(name)).flatMap((pattern, index) =>
		Array.from({ length: attackers }, (_, i) =>
			repeat(pattern, { target, first: index * attackers + i + 1, signal, tallies }),
		),
	);
	await Promise.all(all);
	return tallies;
}

async function repeat(
	pattern: Pattern,
	{
		target,
		first,
		signal,
		tallies,
	}: { target: Target; first: number; signal: AbortSignal; tallies: Tallies },
): Promise<void> {
	const results = tallies[pattern.name] ?? {};
	tallies[pattern.name] = results;
	const attacker = new Attacker(target, first, signal, (result) => {
		results[result] = (results[result] ?? 0) + 1;
	});
	while (!signal.aborted) {
		await attacker.attempt(pattern);
		await attacker.hold(PAUSE_MS);
	}
}
