/**
 * Arguments of tool calls that a host encodes twice: JSON text whose value is the JSON text of the object. Observed: servers that
 * serialise the text of a chat template again, in complete replies and in pieces. Models write `null`
 * for no arguments, and servers in PHP write `[]`. Models put the object into a code fence.
 */
import { codeBlockIn } from "../core/code-block.ts";
import { parseJson, parseRecord } from "../core/json.ts";
import { repairedObject } from "../core/json-repair.ts";

/** Whether the text, or its beginning, is a JSON text of a string. Arguments in one encoding begin with a brace. */
export const mayBeEncodedTwice = (text: string): boolean => text.trimStart().startsWith('"');

const NONE = /^\s*(?:null|\[\s*\])\s*$/;

/** Whether the text, or its beginning, is in a code fence. */
export const mayBeFenced = (text: string): boolean => text.trimStart().startsWith("`");

/** Whether the text, or its beginning, can be other arguments: encoded twice, in a code fence, or `null` or `[]` for none. */
export const mayBeDecoded = (text: string): boolean =>
	mayBeEncodedTwice(text) || mayBeFenced(text) || /^\s*[n[]/.test(text);

/** The text of the object, if the text is encoded twice or in a fence, and no text for none. Otherwise the text itself. */
export function decodedOnce(text: string): string {
	if (NONE.test(text)) return "";
	const fenced = codeBlockIn(text);
	if (fenced !== undefined) return fenced;
	if (!mayBeEncodedTwice(text)) return text;
	const inner = parseJson(text);
	return typeof inner === "string" && parseRecord(inner) ? inner : text;
}

/** Complete arguments, decoded and repaired. What cannot be repaired is as sent. */
export const readArguments = (text: string): string => repairedObject(decodedOnce(text));
