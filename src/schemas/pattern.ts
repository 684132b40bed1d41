/**
 * The only place that runs a caller's text as a `RegExp`. The runtime's engine backtracks, which can take exponential time,
 * so the number of steps is bounded before the expression runs.
 */
import { automatonOf } from "./automaton.ts";
import { type Cost, costOf } from "./cost.ts";
import { readExpression } from "./expression.ts";

/** Steps allowed per match (a few milliseconds), plus steps per character of the text. */
const MAX_STEPS = 1_000_000;
const MAX_CHARACTER_STEPS = 64;

export class Pattern {
	/** `undefined` if unknown. */
	readonly #cost: Cost | undefined;
	/** `undefined` for an invalid expression, which never runs. */
	readonly #regExp: RegExp | undefined;

	/** @param isRead whether to compute the cost; otherwise it is unknown. */
	constructor(source: string, isRead = true) {
		try {
			this.#regExp = new RegExp(source, "u");
		} catch {
			return;
		}
		const expression = isRead ? readExpression(source) : undefined;
		const automaton = expression && automatonOf(expression);
		this.#cost = automaton && costOf(automaton);
	}

	/** Upper bound of the engine's steps for a text of this length. */
	steps(length: number): number {
		if (!this.#regExp) return 0;
		const backtracking = this.#cost?.reduceRight((sum, factor) => sum * (length + 1) + factor, 0);
		return length + (backtracking ?? Number.POSITIVE_INFINITY);
	}

	isCheap(length: number): boolean {
		return this.steps(length) <= MAX_STEPS + length * MAX_CHARACTER_STEPS;
	}

	/** Whether the text has a match; `undefined` if the expression is invalid or takes too long. */
	matches(text: string): boolean | undefined {
		return this.isCheap(text.length) ? this.#regExp?.test(text) : undefined;
	}
}
