/**
 * A rule that bounds the steps of a backtracking engine by the syntax of a regular expression. A repetition or a choice is
 * ambiguous if the next character does not decide how the match continues. A repetition that contains an ambiguity may take
 * exponential time. Outside repetitions, each ambiguity multiplies the ways to read a text. The rule compares only first
 * characters, so it also refuses some expressions that are harmless: `(?:car|cat)*!`.
 */
import type { Expression, Ranges } from "./expression.ts";

/** Larger counts are treated as unbounded. */
const MAX_COUNT = 64;
/** More ways to read a text count as exponential: `factor * (length + 1) ** power`. */
const MAX_POWER = 4;
const MAX_FACTOR = 1e12;

/** Characters, one bit for each of Latin-1. All others share a bit: one such character may be any other. */
type Characters = bigint;
const BEYOND = 0x100;

interface Cost {
	/** The most ways to read a text. */
	factor: number;
	power: number;
	/** The steps of one way, failed attempts included; `Infinity` without a limit. */
	steps: number;
	/** The most steps of one way at one position. */
	width: number;
}

/** The beginning of what comes next: its characters, and the steps until an engine knows that none of them is there. */
interface Begin {
	first: Characters;
	fail: number;
}

interface Node extends Begin {
	/** Whether it may match nothing. */
	isEmpty: boolean;
	/** @param follow what comes after the expression, or after an iteration of it. */
	cost(follow: Begin): Cost;
}

const STEP: Cost = { factor: 1, power: 0, steps: 1, width: 1 };
const END: Begin = { first: 0n, fail: 0 };

/** Upper bound of the steps of a search in a text of `length` characters; `undefined` if it may be exponential. */
export function stepsOf(expression: Expression): ((length: number) => number) | undefined {
	const match = nodeOf(expression).cost(END);
	if (match.power > MAX_POWER || match.factor > MAX_FACTOR) return undefined;
	// Attempts at the other positions do not reach the optional end: an attempt that does has a match.
	const attempt = startsAtBegin(expression) ? undefined : nodeOf(withoutTail(expression)).cost(END);
	return (length) => stepsFor(match, length) + (attempt ? (length + 1) * stepsFor(attempt, length) : 0);
}

const stepsFor = ({ factor, power, steps, width }: Cost, length: number): number =>
	factor * (length + 1) ** power * (1 + Math.min(steps, (length + 1) * width));

function nodeOf(expression: Expression): Node {
	switch (expression.kind) {
		case "assertion":
			return { first: 0n, fail: 1, isEmpty: true, cost: ({ fail }) => ({ ...STEP, width: 1 + fail }) };
		case "character":
			return { first: maskOf(expression.ranges), fail: 1, isEmpty: false, cost: () => STEP };
		case "sequence":
			return expression.parts.map(nodeOf).reduceRight(joined, {
				...END,
				isEmpty: true,
				cost: () => ({ ...STEP, steps: 0 }),
			});
		case "choice":
			return chosen(expression.options.map(nodeOf));
		case "repeat":
			return repeated(nodeOf(expression.part), expression.min, expression.max);
		default:
			return expression satisfies never;
	}
}

const both = (a: Begin, b: Begin): Begin => ({ first: a.first | b.first, fail: a.fail + b.fail });

const joined = (after: Node, own: Node): Node => ({
	...(own.isEmpty ? both(own, after) : own),
	isEmpty: own.isEmpty && after.isEmpty,
	cost(follow) {
		const a = own.cost(after.isEmpty ? both(after, follow) : after);
		const b = after.cost(follow);
		return {
			factor: a.factor * b.factor,
			power: a.power + b.power,
			steps: a.steps + b.steps,
			width: Math.max(a.width, b.width),
		};
	},
});

function chosen(options: Node[]): Node {
	const begin = options.reduce<Begin>(both, END);
	return {
		...begin,
		isEmpty: options.some(({ isEmpty }) => isEmpty),
		cost(follow) {
			const costs = options.map((option) => option.cost(follow));
			const most = (key: keyof Cost) => Math.max(...costs.map((cost) => cost[key]));
			const begins = options.map(({ isEmpty, first }) => (isEmpty ? first | follow.first : first));
			const isDecided =
				options.filter(({ isEmpty }) => isEmpty).length <= 1 &&
				begins.every((one, place) => !begins.slice(place + 1).some((other) => one & other));
			return {
				factor: isDecided ? most("factor") : costs.reduce((sum, { factor }) => sum + factor, 0),
				power: most("power"),
				steps: begin.fail + most("steps"),
				width: begin.fail + follow.fail + most("width"),
			};
		},
	};
}

function repeated(part: Node, min: number, max: number): Node {
	const count = max > MAX_COUNT ? Number.POSITIVE_INFINITY : max;
	return {
		first: max === 0 ? 0n : part.first,
		fail: part.fail,
		isEmpty: part.isEmpty || min === 0,
		cost(follow) {
			const own = part.cost(max > 1 ? both(part, follow) : follow);
			const isDecided = min === max || !(part.first & follow.first);
			const exits = isDecided ? 1 : count - min + 1;
			// Of an unlimited number of ends each position of the text has one.
			let [factor, power] = exits === Number.POSITIVE_INFINITY ? [1, 1] : [exits, 0];
			if (own.factor > 1 || own.power > 0 || (part.isEmpty && max > 1)) {
				factor *= Math.max(2, own.factor) ** count;
				power += own.power === 0 ? 0 : own.power * count;
			}
			const attempts = part.fail + follow.fail;
			return {
				factor,
				power,
				steps: max === 0 ? 0 : count * (own.steps + attempts),
				width: own.width + attempts,
			};
		},
	};
}

const masks = new WeakMap<Ranges, Characters>();

function maskOf(ranges: Ranges): Characters {
	let mask = masks.get(ranges);
	if (mask !== undefined) return mask;
	mask = 0n;
	for (const [first, last] of ranges) {
		const [from, to] = [Math.min(first, BEYOND), Math.min(last, BEYOND)];
		if (to >= from) mask |= ((1n << BigInt(to - from + 1)) - 1n) << BigInt(from);
	}
	masks.set(ranges, mask);
	return mask;
}

/** Removes the optional end. */
function withoutTail(expression: Expression): Expression {
	if (expression.kind === "repeat") return { ...expression, max: expression.min };
	if (expression.kind !== "sequence") return expression;
	const parts = [...expression.parts];
	for (let last = parts.pop(); last; last = parts.pop()) {
		const kept = withoutTail(last);
		if (kept.kind === "repeat" && kept.max === 0) continue;
		parts.push(kept);
		break;
	}
	return { kind: "sequence", parts };
}

/** Whether every alternative begins with `^`, so that the engine tries a match at the start of the text only. */
function startsAtBegin(expression: Expression): boolean {
	switch (expression.kind) {
		case "assertion":
			return expression.sign === "^";
		case "sequence":
			return expression.parts[0] !== undefined && startsAtBegin(expression.parts[0]);
		case "choice":
			return expression.options.every(startsAtBegin);
		case "repeat":
			return expression.min > 0 && startsAtBegin(expression.part);
		case "character":
			return false;
		default:
			return expression satisfies never;
	}
}
