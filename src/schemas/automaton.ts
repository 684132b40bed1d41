/**
 * Builds the Glushkov automaton of a regular expression: one state per character of the expression, with edges to the
 * states that may match next. An edge occurs once per derivation, because a backtracking engine tries each of them.
 */
import type { Expression, Ranges } from "./expression.ts";

export interface Automaton {
	/** The characters that each state matches. State 0 is the start; if unanchored, it also skips characters before a match. */
	ranges: Ranges[];
	/** The states that may follow each state. */
	next: number[][];
}

/** Counted repetitions are expanded up to this many states. Larger ones are treated as unbounded. */
const MAX_COUNTED = 64;
const MAX_STATES = 500;
const MAX_EDGES = 4_000;

/** The first and last states of a subexpression, and whether it may match nothing, in exactly one way. */
interface Part {
	first: number[];
	last: number[];
	empty: boolean;
}

class TooLarge extends Error {}

/**
 * The automaton decides whether a text has a match, not where the match ends. `undefined` for an expression that is too
 * large, or that can match nothing in several ways.
 */
export function automatonOf(expression: Expression): Automaton | undefined {
	try {
		const builder = new Builder();
		const { first } = builder.part(withoutTail(expression));
		const begins = isAnchored(expression) ? first : [0, ...first];
		builder.automaton.next[0] = begins;
		return builder.automaton;
	} catch (cause) {
		if (cause instanceof TooLarge) return undefined;
		throw cause;
	}
}

/** Removes the optional end: the engine matches it once and never backtracks into it. */
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

class Builder {
	readonly automaton: Automaton = { ranges: [[[0, 0x10ffff]]], next: [[]] };
	#edges = 0;

	part(expression: Expression): Part {
		switch (expression.kind) {
			case "assertion":
				return { first: [], last: [], empty: true };
			case "character": {
				const { ranges, next } = this.automaton;
				const state = ranges.push(expression.ranges) - 1;
				next.push([]);
				if (state > MAX_STATES) throw new TooLarge();
				return { first: [state], last: [state], empty: false };
			}
			case "sequence":
				return expression.parts.map((part) => this.part(part)).reduce((a, b) => this.#join(a, b), NOTHING);
			case "choice": {
				const options = expression.options.map((option) => this.part(option));
				if (options.filter(({ empty }) => empty).length > 1) throw new TooLarge();
				return {
					first: options.flatMap(({ first }) => first),
					last: options.flatMap(({ last }) => last),
					empty: options.some(({ empty }) => empty),
				};
			}
			case "repeat":
				return this.#repeated(expression);
			default:
				return expression satisfies never;
		}
	}

	#repeated({ part, min, max }: Expression & { kind: "repeat" }): Part {
		if (max === 0) return NOTHING;
		const before = this.automaton.ranges.length;
		const once = this.part(part);
		const size = this.automaton.ranges.length - before;
		const isUnbounded = max === Number.POSITIVE_INFINITY;
		if ((isUnbounded ? Math.max(min, 1) : max) * size > MAX_COUNTED) {
			if (once.empty) throw new TooLarge();
			return { ...this.#loop(once), empty: min === 0 };
		}
		let copies = 0;
		const copy = () => (copies++ === 0 ? once : this.part(part));
		let required = NOTHING;
		// In an unbounded count the last required copy loops. If the part may be empty, an extra copy loops instead.
		const must = isUnbounded && !once.empty ? min - 1 : min;
		for (let nth = 0; nth < must; nth++) required = this.#join(required, copy());
		if (isUnbounded) return this.#join(required, { ...this.#loop(copy()), empty: once.empty || min === 0 });
		let optional = NOTHING;
		for (let nth = min; nth < max; nth++) optional = { ...this.#join(copy(), optional), empty: true };
		return this.#join(required, optional);
	}

	#loop(part: Part): Part {
		this.#connect(part.last, part.first);
		return part;
	}

	#join(a: Part, b: Part): Part {
		this.#connect(a.last, b.first);
		return {
			first: a.empty ? [...a.first, ...b.first] : a.first,
			last: b.empty ? [...b.last, ...a.last] : b.last,
			empty: a.empty && b.empty,
		};
	}

	#connect(from: number[], to: number[]): void {
		this.#edges += from.length * to.length;
		if (this.#edges > MAX_EDGES) throw new TooLarge();
		for (const state of from) this.automaton.next[state]?.push(...to);
	}
}

const NOTHING: Part = { first: [], last: [], empty: true };

/** Whether every alternative begins with `^`, so that the engine tries a match at the start of the text only. */
function isAnchored(expression: Expression): boolean {
	switch (expression.kind) {
		case "assertion":
			return expression.sign === "^";
		case "sequence":
			return expression.parts[0] !== undefined && isAnchored(expression.parts[0]);
		case "choice":
			return expression.options.every(isAnchored);
		case "repeat":
			return expression.min > 0 && isAnchored(expression.part);
		case "character":
			return false;
		default:
			return expression satisfies never;
	}
}
