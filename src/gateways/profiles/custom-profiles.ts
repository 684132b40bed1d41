/** The profiles of data-loss prevention that an account declares: an expression that a scan runs in linear time. */
import { BoundedMap } from "../../core/bounded-map.ts";
import { Pattern } from "../../schemas/pattern.ts";

export type CustomProfiles = Readonly<Record<string, { pattern: string }>>;

/** Characters of the longest body that is scanned. An expression that is cheap for it takes linear time for all. */
const LONGEST_TEXT = 24 * 1024 * 1024;

/** Expressions of all gateways. At the bound all are dropped. */
const MAX_PATTERNS = 500;
const patterns = new BoundedMap<string, Pattern>(MAX_PATTERNS);

const patternOf = (source: string): Pattern => patterns.getOrSet(source, () => new Pattern(source));

/** Whether the expression is valid, and every search takes linear time. */
export function isLinear(source: string): boolean {
	const pattern = patternOf(source);
	// The steps of an invalid expression are 0.
	return pattern.matches("") !== undefined && pattern.isCheap(LONGEST_TEXT);
}

/** An expression that cannot run counts as found, so that a policy that blocks does block. */
export const findsCustom = (text: string, { pattern }: CustomProfiles[string]): boolean =>
	patternOf(pattern).matches(text) ?? true;
