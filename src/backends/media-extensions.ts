/** Options of media requests that only some engines know: those that the engine of a call receives, and the others, which the answer names. */
import type { Extensions } from "../tasks/extensions.ts";
import type { CallContext } from "./backend.ts";

export function dropExtensions({ report }: Pick<CallContext, "report">, sent: Extensions = {}): void {
	// The header has no brackets.
	report?.dropped.push(...Object.keys(sent).map((name) => name.replace("[]", "")));
}

/** The options that `knows` accepts. */
export function chooseExtensions(
	call: Pick<CallContext, "report">,
	sent: Extensions = {},
	knows: (name: string) => boolean,
): Extensions {
	const entries = Object.entries(sent);
	dropExtensions(call, Object.fromEntries(entries.filter(([name]) => !knows(name))));
	return Object.fromEntries(entries.filter(([name]) => knows(name)));
}
