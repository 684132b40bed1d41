/** Cache breakpoints of a caller (`CacheBreakpoint`). They are hints, so a value of another form is ignored. */
import { isRecord } from "../../core/json.ts";
import type { CacheBreakpoint } from "../../tasks/text-generation/types.ts";

/** For the request, part or tool that `sent` becomes. */
export function breakpointOf(sent: unknown): { cache_control?: CacheBreakpoint } {
	const control = isRecord(sent) ? sent.cache_control : undefined;
	if (!isRecord(control) || typeof control.type !== "string") return {};
	const { type, ttl } = control;
	return { cache_control: { type, ...(typeof ttl === "string" && { ttl }) } };
}
