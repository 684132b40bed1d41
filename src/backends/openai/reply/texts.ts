/**
 * Reads the texts of a message, or of a delta, in the forms that hosts send them.
 *
 * Observed: a list of parts, of which `thinking` parts are reasoning (Mistral); an object in JSON mode; `reasoning`,
 * `reasoning_content`, `reasoning_text`, `thinking`, or only `reasoning_details` (OpenRouter, MiniMax).
 */
import { isRecord } from "../../../core/json.ts";

interface MessageTexts {
	/** `undefined`: the field is absent or `null`. */
	content?: string;
	reasoning: string;
	refusal: string;
}

/** Fields of one part that hold its text. */
const TEXT_FIELDS = ["text", "thinking", "reasoning", "content", "summary", "refusal", "value"] as const;
const REASONING_PARTS: ReadonlySet<unknown> = new Set([
	"thinking",
	"reasoning",
	"reasoning_text",
	"reasoning.text",
	"reasoning.summary",
	"reasoning_content",
]);
/** Fields of a message with its reasoning, the most exact first. Some hosts send the same text in several of them. */
const REASONING_FIELDS = [
	"reasoning_content",
	"reasoning",
	"reasoning_text",
	"thinking",
	"reasoning_details",
] as const;

/** Reads `content` of a message or a delta. */
export function readContent(sent: unknown): MessageTexts {
	if (sent === undefined || sent === null) return { reasoning: "", refusal: "" };
	if (!Array.isArray(sent) && !isPart(sent)) return { content: plainText(sent), reasoning: "", refusal: "" };
	const texts = { content: "", reasoning: "", refusal: "" };
	for (const part of Array.isArray(sent) ? sent : [sent]) {
		const type = isRecord(part) ? part.type : undefined;
		const field = REASONING_PARTS.has(type) ? "reasoning" : type === "refusal" ? "refusal" : "content";
		texts[field] += textIn(part);
	}
	return texts;
}

/** The reasoning in a message's own fields. */
export function readReasoning(message: Record<string, unknown>): string {
	for (const field of REASONING_FIELDS) {
		const text = textIn(message[field]);
		if (text !== "") return text;
	}
	return "";
}

/** An object that has a text in one of the usual fields, not a document in JSON mode. */
const isPart = (value: unknown): boolean =>
	isRecord(value) && (typeof value.type === "string" || isOnlyText(value)) && textIn(value) !== "";

const isOnlyText = ({ annotations: _, ...fields }: Record<string, unknown>): boolean =>
	Object.keys(fields).length === 1;

/** A number or an object is JSON: some engines send the parsed answer in JSON mode. */
const plainText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The text of a part, of a list of parts, or of a text. */
function textIn(value: unknown): string {
	if (typeof value === "string") return value;
	if (Array.isArray(value)) return value.map(textIn).join("");
	if (!isRecord(value)) return "";
	for (const field of TEXT_FIELDS) {
		const text = textIn(value[field]);
		if (text !== "") return text;
	}
	return "";
}
