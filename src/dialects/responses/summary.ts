/** Summaries of conversations in the items of a request (`compaction.ts` makes them). */
import { Buffer } from "node:buffer";

export const PREFIX = "ganglion-summary-1.";

/** The types of an item that replaces the items before it. */
export const SUMMARIES: ReadonlySet<string> = new Set([
	"compaction",
	"compaction_summary",
	"context_compaction",
]);

const HEADING = "The conversation so far was replaced by this summary:";

/** The text for the model. `undefined`: the summary is encrypted. */
export function summaryIn(encrypted_content: unknown): string | undefined {
	if (typeof encrypted_content !== "string" || !encrypted_content.startsWith(PREFIX)) return undefined;
	const summary = Buffer.from(encrypted_content.slice(PREFIX.length), "base64url").toString();
	return `${HEADING}\n\n${summary}`;
}

/** The last message of a request for a summary. */
export const SUMMARY_REQUEST = `Write a summary of this conversation. It will replace all messages so far, and the work continues from it \
alone. Keep: the user's goals, instructions and preferences; decisions and their reasons; files, commands, identifiers and values that are \
still needed; what is done, what failed, and the next steps. Write only the summary, and call no tool.`;

export const requestsCompaction = (input: unknown): boolean =>
	Array.isArray(input) && input.some(({ type }) => type === "compaction_trigger");

/** Whether the gateway has written a summary in the input. No other provider can read it. */
export const hasOwnSummary = (input: unknown): boolean =>
	Array.isArray(input) && input.some(({ encrypted_content }) => summaryIn(encrypted_content) !== undefined);
