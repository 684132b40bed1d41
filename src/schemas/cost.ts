/** Bounds the steps of a backtracking engine by a polynomial in the length of the text, for any text. */
import type { Automaton } from "./automaton.ts";
import type { Ranges } from "./expression.ts";

/** Coefficients of the polynomial, the constant first: `[7, 2]` is `7 + 2 * length`. */
export type Cost = number[];

/** Polynomials of a higher degree, or with larger factors, count as unbounded. */
const MAX_POWER = 4;
const MAX_FACTOR = 1e12;

/** An edge from a state. */
interface Edge {
	state: number;
	/** Whether it stays in the component (and may return); otherwise it leaves the component. */
	staysInside: boolean;
	/** Steps from its target on. */
	cost: Cost;
}

/** The worst case over all characters of the edges that match the same character. */
interface Overlap {
	/** How many stay in the component. */
	rounds: number;
	/** Cost of the leaving edges beside one that stays, and cost of the leaving edges alone. */
	along: Cost;
	away: Cost;
}

/**
 * The size of the search tree of a backtracking engine; `undefined` if it is exponential. Inside a cyclic component the
 * search stays linear while only one next state matches a character. If an edge that leaves the component matches it too, a
 * subtree may start at every position of the text. Two edges that both stay in the component make the tree exponential,
 * unless no character lets both of them continue.
 */
export function costOf(automaton: Automaton): Cost | undefined {
	const { next } = automaton;
	const costs: Cost[] = [];
	for (const states of components(next)) {
		const inside = new Set(states);
		const [first = 0] = states;
		const isCyclic = states.length > 1 || next[first]?.includes(first);
		let worst: Overlap = { rounds: 1, along: [], away: [] };
		for (const state of states) {
			const edges = (next[state] ?? []).map(
				(other): Edge => ({ state: other, staysInside: inside.has(other), cost: costs[other] ?? [] }),
			);
			const found = worstOverlap(edges, automaton);
			if (!found) return undefined;
			worst = worse(worst, found);
		}
		const { rounds, along, away } = worst;
		// At each position of the text: the edges that stay, and those that leave beside them.
		const cost = isCyclic ? plus([0, ...plus([rounds], along)], away) : plus([1], away);
		if (cost.length > MAX_POWER + 1 || cost.some((factor) => factor > MAX_FACTOR)) return undefined;
		for (const state of states) costs[state] = cost;
	}
	return costs[0];
}

const plus = (a: Cost, b: Cost, sign = 1): Cost =>
	(a.length < b.length ? b : a).map((_, power) => (a[power] ?? 0) + sign * (b[power] ?? 0));

const larger = (a: Cost, b: Cost): Cost =>
	(a.length < b.length ? b : a).map((_, power) => Math.max(a[power] ?? 0, b[power] ?? 0));

const worse = (a: Overlap, b: Overlap): Overlap => ({
	rounds: Math.max(a.rounds, b.rounds),
	along: larger(a.along, b.along),
	away: larger(a.away, b.away),
});

/** `undefined` if two edges stay in the component and both can continue. */
function worstOverlap(edges: Edge[], { ranges, next }: Automaton): Overlap | undefined {
	let worst: Overlap = { rounds: 0, along: [], away: [] };
	const rounds: Edge[] = [];
	let leaving: Cost = [];
	for (const { begins, edge } of changesOf(edges, ranges)) {
		if (!edge.staysInside) leaving = plus(leaving, edge.cost, begins ? 1 : -1);
		else if (!begins) rounds.splice(rounds.indexOf(edge), 1);
		else {
			const follow = next[edge.state] ?? [];
			const goOn = (other: Edge) =>
				next[other.state]?.some((a) => follow.some((b) => overlap(ranges[a], ranges[b])));
			if (rounds.some(goOn)) return undefined;
			rounds.push(edge);
		}
		const isAlong = rounds.length > 0;
		worst = worse(worst, {
			rounds: rounds.length,
			along: isAlong ? leaving : [],
			away: isAlong ? [] : leaving,
		});
	}
	return worst;
}

/** The characters at which an edge begins or ceases to match, in order. */
function changesOf(edges: Edge[], ranges: Ranges[]): { at: number; begins: boolean; edge: Edge }[] {
	const changes = edges.flatMap((edge) =>
		(ranges[edge.state] ?? []).flatMap(([first, last]) => [
			{ at: first, begins: true, edge },
			{ at: last + 1, begins: false, edge },
		]),
	);
	// At one character, ends come before beginnings.
	return changes.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
}

const overlap = (a: Ranges = [], b: Ranges = []): boolean =>
	a.some(([first, last]) => b.some(([from, to]) => first <= to && from <= last));

/** Strongly connected components, each after the components that it leads to (Tarjan's algorithm). */
function components(next: number[][]): number[][] {
	const found: number[][] = [];
	const order: number[] = [];
	const lowest: number[] = [];
	const stack: number[] = [];
	const onStack = new Set<number>();
	let count = 0;
	const visit = (state: number): void => {
		order[state] = lowest[state] = count++;
		stack.push(state);
		onStack.add(state);
		for (const other of new Set(next[state])) {
			if (order[other] === undefined) visit(other);
			if (onStack.has(other)) lowest[state] = Math.min(lowest[state] ?? 0, lowest[other] ?? 0);
		}
		if (lowest[state] !== order[state]) return;
		const component = stack.splice(stack.indexOf(state));
		for (const other of component) onStack.delete(other);
		found.push(component);
	};
	visit(0);
	return found;
}
