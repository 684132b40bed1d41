/** Summaries of conversations in the items of a request (`compaction.ts` makes them). */
import { Buffer } from "node:buffer";

const PREFIX = "ganglion-summary-1.";
/** Of a summary that replaces all items before it. Those of `/responses/compact` follow the user's messages, which stay. */
const REPLACING_PREFIX = "ganglion-summary-2.";

/** The types of an item that replaces the items before it. */
export const SUMMARIES: ReadonlySet<string> = new Set([
	"compaction",
	"compaction_summary",
	"context_compaction",
]);

const HEADING = "The conversation so far was replaced by this summary:";

/** Only the JSON of such a summary has this text, because JSON escapes the quotes inside of texts. */
export const REPLACING_SUMMARY_JSON = `"encrypted_content":"${REPLACING_PREFIX}`;

export const encodedSummary = (summary: string): string =>
	`${PREFIX}${Buffer.from(summary).toString("base64url")}`;

/** The same summary for the place of all items before it. */
export const replacingSummary = (encrypted_content: string): string =>
	encrypted_content.replace(PREFIX, REPLACING_PREFIX);

/** The summary itself. `undefined`: the text is no summary of the gateway. */
export function summaryText(encoded: unknown): string | undefined {
	if (typeof encoded !== "string") return undefined;
	const prefix = [PREFIX, REPLACING_PREFIX].find((each) => encoded.startsWith(each));
	return prefix && Buffer.from(encoded.slice(prefix.length), "base64url").toString();
}

/** The text for the model. `undefined`: the summary is encrypted. */
export function summaryIn(encrypted_content: unknown): string | undefined {
	const summary = summaryText(encrypted_content);
	return summary === undefined ? undefined : `${HEADING}\n\n${summary}`;
}

interface LooseItem {
	type?: string | undefined;
	role?: unknown;
	encrypted_content?: unknown;
}

/**
 * Whether an item is replaced by a later summary. Rules for the model and its tools stay. A summary that follows a trigger replaces the items
 * before it, too: the trigger is in the chain of stored responses.
 */
export function replacedIn(input: readonly LooseItem[]): (item: LooseItem, index: number) => boolean {
	const last = input.findLastIndex(
		({ encrypted_content: sent }, index) =>
			summaryText(sent) !== undefined &&
			(String(sent).startsWith(REPLACING_PREFIX) || input[index - 1]?.type === TRIGGER),
	);
	return (item, index) => index < last && !isInstruction(item);
}

export const isInstruction = ({ type = "message", role }: LooseItem): boolean =>
	type === "additional_tools" || (type === "message" && (role === "system" || role === "developer"));

/** The last message of a request for a summary. */
export const SUMMARY_REQUEST = `Write a summary of this conversation. It will replace all messages so far, and the work continues from it \
alone. Keep: the user's goals, instructions and preferences; decisions and their reasons; files, commands, identifiers and values that are \
still needed; what is done, what failed, and the next steps. Write only the summary, and call no tool.`;

const TRIGGER = "compaction_trigger";

/** A trigger before a summary is that of an earlier request. */
export const requestsCompaction = (input: unknown): boolean =>
	Array.isArray(input) &&
	input.findLastIndex(({ type }) => type === TRIGGER) >
		input.findLastIndex(({ type }) => SUMMARIES.has(type));

/** Whether the gateway has written a summary in the input. No other provider can read it. */
export const hasOwnSummary = (input: unknown): boolean =>
	Array.isArray(input) && input.some(({ encrypted_content }) => summaryIn(encrypted_content) !== undefined);
