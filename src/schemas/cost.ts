/** How the work of a backtracking engine grows with the length of the text, for any text. */
import type { Automaton } from "./automaton.ts";
import type { Ranges } from "./expression.ts";

/** Steps by powers of the length, the constant first: `[7, 2]` is `7 + 2 * length`. */
export type Cost = number[];

/** Higher powers are for ever, as far as anybody waits. */
const MAX_POWER = 4;
const MAX_FACTOR = 1e12;

/** A way on from a state. */
interface Way {
	state: number;
	/** Whether it leads back, some time; else it leaves for good. */
	goesRound: boolean;
	/** Steps from there. */
	cost: Cost;
}

/** What ways do at the same character, at the worst. */
interface Together {
	/** How many go round. */
	rounds: number;
	/** What leaves beside one that goes round, and what leaves without. */
	along: Cost;
	away: Cost;
}

/**
 * The size of the tree of all ways to read a text; undefined where it grows without measure. A state that comes round
 * goes on alone as long as only one of its next states can read a character; where one that leaves can read it too, a
 * tree of its own may grow from every place of the text. Two that both come round multiply without end, unless no
 * character lets both of them go on.
 */
export function costOf(automaton: Automaton): Cost | undefined {
	const { next } = automaton;
	const costs: Cost[] = [];
	for (const states of components(next)) {
		const inside = new Set(states);
		const [first = 0] = states;
		const comesRound = states.length > 1 || next[first]?.includes(first);
		let worst: Together = { rounds: 1, along: [], away: [] };
		for (const state of states) {
			const ways = (next[state] ?? []).map(
				(other): Way => ({ state: other, goesRound: inside.has(other), cost: costs[other] ?? [] }),
			);
			const found = together(ways, automaton);
			if (!found) return undefined;
			worst = worse(worst, found);
		}
		const { rounds, along, away } = worst;
		// Each place of the text: the rounds and what leaves beside them.
		const cost = comesRound ? plus([0, ...plus([rounds], along)], away) : plus([1], away);
		if (cost.length > MAX_POWER + 1 || cost.some((factor) => factor > MAX_FACTOR)) return undefined;
		for (const state of states) costs[state] = cost;
	}
	return costs[0];
}

const plus = (a: Cost, b: Cost, sign = 1): Cost =>
	(a.length < b.length ? b : a).map((_, power) => (a[power] ?? 0) + sign * (b[power] ?? 0));

const larger = (a: Cost, b: Cost): Cost =>
	(a.length < b.length ? b : a).map((_, power) => Math.max(a[power] ?? 0, b[power] ?? 0));

const worse = (a: Together, b: Together): Together => ({
	rounds: Math.max(a.rounds, b.rounds),
	along: larger(a.along, b.along),
	away: larger(a.away, b.away),
});

/** Undefined where two go round, and on. */
function together(ways: Way[], { ranges, next }: Automaton): Together | undefined {
	let most: Together = { rounds: 0, along: [], away: [] };
	const rounds: Way[] = [];
	let leaving: Cost = [];
	for (const { begins, way } of changesOf(ways, ranges)) {
		if (!way.goesRound) leaving = plus(leaving, way.cost, begins ? 1 : -1);
		else if (!begins) rounds.splice(rounds.indexOf(way), 1);
		else {
			const follow = next[way.state] ?? [];
			const goOn = (other: Way) =>
				next[other.state]?.some((a) => follow.some((b) => overlap(ranges[a], ranges[b])));
			if (rounds.some(goOn)) return undefined;
			rounds.push(way);
		}
		const isAlong = rounds.length > 0;
		most = worse(most, {
			rounds: rounds.length,
			along: isAlong ? leaving : [],
			away: isAlong ? [] : leaving,
		});
	}
	return most;
}

/** The characters from which on a way can be gone, or no more, in order. */
function changesOf(ways: Way[], ranges: Ranges[]): { at: number; begins: boolean; way: Way }[] {
	const changes = ways.flatMap((way) =>
		(ranges[way.state] ?? []).flatMap(([first, last]) => [
			{ at: first, begins: true, way },
			{ at: last + 1, begins: false, way },
		]),
	);
	// What ends at a character ends before others begin there.
	return changes.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
}

const overlap = (a: Ranges = [], b: Ranges = []): boolean =>
	a.some(([first, last]) => b.some(([from, to]) => first <= to && from <= last));

/** Strongly connected components, each after those it leads to (Tarjan). */
function components(next: number[][]): number[][] {
	const found: number[][] = [];
	const order: number[] = [];
	const lowest: number[] = [];
	const stack: number[] = [];
	const open = new Set<number>();
	let count = 0;
	const visit = (state: number): void => {
		order[state] = lowest[state] = count++;
		stack.push(state);
		open.add(state);
		for (const other of new Set(next[state])) {
			if (order[other] === undefined) visit(other);
			if (open.has(other)) lowest[state] = Math.min(lowest[state] ?? 0, lowest[other] ?? 0);
		}
		if (lowest[state] !== order[state]) return;
		const component = stack.splice(stack.indexOf(state));
		for (const other of component) open.delete(other);
		found.push(component);
	};
	visit(0);
	return found;
}
