/**
 * The only place that runs a caller's text as a `RegExp`. The runtime's engine backtracks, which can take exponential time,
 * so the number of steps is bounded before the expression runs.
 */
import { stepsOf } from "./backtracking.ts";
import { readExpression } from "./expression.ts";

/** Steps allowed per match (a few milliseconds), plus steps per character of the text. */
const MAX_STEPS = 1_000_000;
const MAX_CHARACTER_STEPS = 64;

export class Pattern {
	/** `undefined` if unknown. */
	readonly #steps: ((length: number) => number) | undefined;
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
		this.#steps = expression && stepsOf(expression);
	}

	/** Upper bound of the engine's steps for a text of this length. */
	steps(length: number): number {
		return this.#regExp ? length + (this.#steps?.(length) ?? Number.POSITIVE_INFINITY) : 0;
	}

	isCheap(length: number): boolean {
		return this.steps(length) <= MAX_STEPS + length * MAX_CHARACTER_STEPS;
	}

	/** Whether the text has a match; `undefined` if the expression is invalid or takes too long. */
	matches(text: string): boolean | undefined {
		return this.isCheap(text.length) ? this.#regExp?.test(text) : undefined;
	}
}
