import { describe, expect, it } from "vitest";
import { book, RULES, type Rule, use } from "./world.ts";

/** Sends a form of a forbidden text. Returns what the caller reads. */
export type Way = (form: string, rule: Rule) => Promise<string>;

/** Each rule must hold on each way. */
export function describeWays(ways: Readonly<Record<string, Way>>): void {
	describe.each(Object.entries(RULES))("%s", (_, rule) => {
		const cases = Object.entries(ways).flatMap(([way, send]) =>
			Object.entries(rule.forms).map(([name, form]) => [way, name, send, form] as const),
		);

		it.each(cases)(
			"holds for %s: %s",
			async (__, ___, send, form) => {
				use(rule);
				const answer = await send(form, rule);
				expect(rule.isBroken(book), book.join("\n")).toBe(false);
				expect(answer).toContain(rule.sentence);
			},
			60_000,
		);
	});
}
