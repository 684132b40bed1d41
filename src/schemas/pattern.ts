/**
 * The one place where a caller's text becomes a `RegExp` that runs. The runtime's engine goes back and tries every way
 * through an expression, which may take longer than the universe has; so the ways are counted first.
 */
import { automatonOf } from "./automaton.ts";
import { type Cost, costOf } from "./cost.ts";
import { readExpression } from "./expression.ts";

/** Steps that one test of one text may take: some milliseconds; and for each character of a long one. */
const MAX_STEPS = 1_000_000;
const MAX_CHARACTER_STEPS = 64;

export class Pattern {
	/** Undefined where nobody can say. */
	readonly #cost: Cost | undefined;
	/** Undefined for what is no expression: nothing will run. */
	readonly #regExp: RegExp | undefined;

	/** `isRead`: whether to find out what it costs. */
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

	/** The most steps that the engine takes for a text of so many characters. */
	steps(length: number): number {
		if (!this.#regExp) return 0;
		const ways = this.#cost?.reduceRight((sum, factor) => sum * (length + 1) + factor, 0);
		return length + (ways ?? Number.POSITIVE_INFINITY);
	}

	isCheap(length: number): boolean {
		return this.steps(length) <= MAX_STEPS + length * MAX_CHARACTER_STEPS;
	}

	/** Whether the text has a match; undefined for what is no expression, or where finding out takes too long. */
	matches(text: string): boolean | undefined {
		return this.isCheap(text.length) ? this.#regExp?.test(text) : undefined;
	}
}
