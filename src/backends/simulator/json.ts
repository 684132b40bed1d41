/** JSON mode: a document for the schema that was given, or an object with the keys that the conversation names. */
import { AiError } from "../../errors.ts";
import type { ChatInput, ResponseFormat } from "../../tasks/text-generation.ts";
import { type Conversation, spelledOut } from "./conversation.ts";
import type { Effort } from "./effort.ts";
import { Evidence } from "./evidence.ts";
import { instanceOf } from "./instance.ts";
import { SchemaDocument } from "./json-schema.ts";
import { KINDS, keyWords, kindOf } from "./kinds.ts";
import { enumeration } from "./phrases.ts";
import { progress } from "./progress.ts";
import { Source } from "./source.ts";

/** Earlier turns that values may come from. */
const MAX_TURNS = 8;
const UNKNOWN = "unknown";
/** Properties that want words of our own. */
const WRITTEN =
	/^(?:answer|response|reply|summary|explanation|explain|reason|reasoning|rationale|description|result|output|analysis|thought|thoughts|conclusion|justification|story|joke)$/;

/** The document as text. `said` is what the simulator would say without JSON mode. */
export function jsonFor(
	input: ChatInput,
	conversation: Conversation,
	said: string,
	{ now, effort }: { now: number; effort: Effort },
): string {
	const format: ResponseFormat = input.response_format ?? { type: "text" };
	const given = format.type === "json_schema" ? format.json_schema.schema : undefined;
	const named = given === undefined ? schemaFromText(conversation) : { schema: given, shown: "" };
	if (named === undefined) return JSON.stringify({ answer: said });

	const { lastMessage, turns } = conversation;
	const results = progress(input).results.map(({ content }) => spelledOut(content));
	const others = turns
		.filter(({ text, role }) => text.trim() !== "" && text.trim() !== lastMessage && role !== "tool")
		.reverse()
		.slice(0, MAX_TURNS);
	const evidence = new Evidence({
		primary: [...results, lastMessage.replace(named.shown, " ")].join("\n"),
		others: others
			.filter(({ role }) => role === "user" || role === "assistant")
			.map(({ text }) => new Source(text)),
		now,
		effort,
	});
	const document = instanceOf(new SchemaDocument(named.schema), {
		evidence,
		optional: "all",
		guess: false,
		written: ({ key }) => (keyWords(key).some((word) => WRITTEN.test(word)) ? said : undefined),
		fallback: (hint) => (kindOf(hint, false) === KINDS.message ? said : UNKNOWN),
	});
	if (!document) throw new AiError("jsonModeUnmet");
	return JSON.stringify(document.value);
}

/**
 * From the newest text that shows an object (`{"name": …}`) or lists keys ("with keys a and b"); and where it does, so
 * that the example is not taken for a value.
 */
function schemaFromText({ turns }: Conversation): { schema: unknown; shown: string } | undefined {
	for (const { text, role } of [...turns].reverse()) {
		if (role === "tool" || role === "assistant") continue;
		const found = [keysShown(text), keysListed(text)].find(({ keys }) => keys.size > 0);
		if (found) return { schema: schemaOf(found.keys), shown: found.shown };
	}
	return undefined;
}

interface NamedKeys {
	/** Each key with how its value begins in an example; `""` without one. */
	keys: Map<string, string>;
	/** The part of the text that names them. */
	shown: string;
}

/** Keys of the first object in a text, its own only. It need not be JSON: people write `{"name": string, …}`. */
function keysShown(text: string): NamedKeys {
	const keys = new Map<string, string>();
	let [depth, start, end] = [0, -1, text.length];
	for (const { 0: token, 1: key, 2: value = "", index } of text.matchAll(
		/[{}[\]]|["“']([\p{L}\p{N}_ -]{1,60})["”']\s*:(?=\s*(["“']?[^"”'\n,{}]{0,200}))/gu,
	)) {
		if (token === "{" || token === "[") {
			if (depth === 0 && keys.size === 0) start = index;
			depth++;
		} else if (token === "}" || token === "]") {
			depth = Math.max(0, depth - 1);
			end = index + 1;
			if (depth === 0 && keys.size > 0) break;
		} else if (depth === 1 && key !== undefined) keys.set(key, value.trim());
	}
	return { keys, shown: start < 0 ? "" : text.slice(start, end) };
}

const KEY_LIST =
	/\b(?:keys?|fields?|properties|attributes)\b\s*(?:(?:named|called|are|is|of|like|such as|:)\s*)?(?:[:(]\s*)?([^.:;\n?)]{1,300})/i;

function keysListed(text: string): NamedKeys {
	const [shown = "", list = ""] = KEY_LIST.exec(text) ?? [];
	const keys = enumeration(list)
		.map((part) => part.replace(/["'“”`]/g, "").trim())
		.filter((part) => /^[\p{L}_][\p{L}\p{N}_-]{0,40}$/u.test(part));
	return { keys: new Map(keys.map((key) => [key, ""])), shown };
}

const NUMERIC =
	/^(?:age|count|price|total|quantity|year|amount|score|rating|temperature|number|cost|height|weight|population|confidence)$/;
const YES_OR_NO = /^(?:is|has|can|should|does|was|will)$/;

const schemaOf = (keys: Map<string, string>): unknown => ({
	type: "object",
	properties: Object.fromEntries(Array.from(keys, ([key, shown]) => [key, propertyOf(key, shown)])),
	required: [...keys.keys()],
});

/** A schema from the name of a key and, where an example shows one, from the kind of its value. */
function propertyOf(key: string, shown: string): unknown {
	const named = keyWords(key);
	const options = shown.replace(/^["“']/, "").split(/\s*\|\s*/);
	if (options.length > 1) return { enum: options };
	if (/^(?:true|false|bool)/i.test(shown) || YES_OR_NO.test(named[0] ?? "")) return { type: "boolean" };
	if (shown.startsWith("[")) return { type: "array", items: { type: "string" } };
	if (/^(?:-?\d|<?(?:number|int|float))/i.test(shown) || named.some((word) => NUMERIC.test(word)))
		return { type: ["number", "null"] };
	return { type: "string" };
}
