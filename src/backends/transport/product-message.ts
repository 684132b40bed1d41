/** Messages of Workers AI and of other gateways like this one: `AiError: {name}: {description} ({request id})`. */
import { FAILURES } from "../../core/failures.ts";

const REQUEST_ID = / \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)$/;
const PREFIX = /^AiError: /;
const NAMES: ReadonlySet<string> = new Set([
	"Ai",
	...Object.values(FAILURES).flatMap(({ name }) => name || []),
]);

/** Removes the request id and known error names. `Error: …` is part of the message of 5006. Other messages stay as they are. */
export function descriptionIn(message: string): string {
	if (!PREFIX.test(message)) return message;
	const text = message.replace(REQUEST_ID, "").replace(PREFIX, "");
	const end = text.indexOf(": ");
	const name = text.slice(0, Math.max(0, end));
	return NAMES.has(name) ? text.slice(end + 2) : text;
}
