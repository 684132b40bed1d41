/**
 * The content of a `compaction` item: a summary that a model of this gateway wrote. It is the caller's own text, so it is encoded and not
 * encrypted. A caller who changes it changes only the caller's own prompt.
 */
import { isRecord } from "../core/json.ts";
import { decodeBase64, encodeBase64 } from "../media/base64.ts";

/** Identifies the seals of this gateway. OpenAI's own begin otherwise. */
const PREFIX = "ganglion-summary-1.";
const INTRODUCTION = "A summary of the earlier conversation:\n\n";

export const sealSummary = (summary: string): string =>
	PREFIX + encodeBase64(new TextEncoder().encode(summary));

/** The summary of an item as a message for an engine. `undefined`: the item is no compaction of this gateway. */
export function summaryMessage(item: unknown): object | undefined {
	if (!isRecord(item) || item.type !== "compaction") return undefined;
	const { encrypted_content: seal } = item;
	if (typeof seal !== "string" || !seal.startsWith(PREFIX)) return undefined;
	const summary = decodeBase64(seal.slice(PREFIX.length));
	if (!summary) return undefined;
	const content = INTRODUCTION + new TextDecoder().decode(summary);
	return { type: "message", role: "developer", content };
}
