/**
 * Anthropic refuses a request with more than four cache breakpoints. The last ones have the longest prefixes, so the earliest are left out.
 * https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
 */
import { isRecord } from "../../core/json.ts";

const MAX_BREAKPOINTS = 4;

/** The lists that a prompt consists of, in the order in which Anthropic caches it. */
const LISTS = ["tools", "system", "messages", "content"] as const;

const isMarked = (value: Record<string, unknown>): boolean => value.cache_control != null;

function countIn(value: unknown): number {
	if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countIn(each), 0);
	if (!isRecord(value)) return 0;
	return LISTS.reduce((sum, name) => sum + countIn(value[name]), isMarked(value) ? 1 : 0);
}

/** The body itself if it has few breakpoints. `onDropped` is called if some are left out. */
export function withFewBreakpoints(
	body: Record<string, unknown>,
	onDropped: () => void,
): Record<string, unknown> {
	let surplus = countIn(body) - MAX_BREAKPOINTS;
	if (surplus <= 0) return body;
	onDropped();
	const without = (value: unknown): unknown => {
		if (surplus <= 0) return value;
		if (Array.isArray(value)) return value.map(without);
		if (!isRecord(value)) return value;
		const changed = { ...value };
		// A block ends after its contents.
		for (const name of LISTS) if (name in changed) changed[name] = without(changed[name]);
		if (surplus > 0 && isMarked(changed) && !("messages" in changed)) {
			surplus--;
			delete changed.cache_control;
		}
		return changed;
	};
	return without(body) as Record<string, unknown>;
}
