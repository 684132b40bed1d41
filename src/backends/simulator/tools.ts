/**
 * Tool calls. A tool is called only if the user's last text has its name after a verb: "Use get_weather", "call the search
 * tool". One call per reply, in the order of the text; then the results are quoted. Names in system prompts, descriptions,
 * machine blocks, code, and negated or conditional clauses are ignored.
 *
 * Arguments are placeholders, or the JSON object that follows the name: `Use get_weather with {"city":"Paris"}`.
 */
import { isRecord } from "../../core/json.ts";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import { SchemaDocument } from "./json-schema.ts";
import { placeholder } from "./placeholder.ts";
import type { UserText } from "./user-text.ts";

const MAX_CALLS = 8;
/** The limit of verbs that are checked. */
const MAX_VERBS = 1_000;
/** Words of a text that are compared with the names of tools. */
const MAX_NAME_WORDS = 10;
/** Characters before a name that are read for a negation. */
const CLAUSE = 200;
/** Closing braces that are tried as the end of the arguments. */
const MAX_BRACES = 50;
const NO_PARAMETERS = { type: "object", properties: {} };

interface SimulatedCall {
	name: string;
	arguments: Record<string, unknown>;
}

interface Request {
	tool: ChatTool;
	/** The JSON object that follows the name. */
	literal?: Record<string, unknown> | undefined;
}

/** The call to make now; undefined for an answer in text. */
export function callFor(input: ChatInput, user: UserText): SimulatedCall | undefined {
	const { tools, forced } = offeredTools(input);
	if (tools.length === 0) return undefined;
	const later = input.messages.slice(user.at + 1);
	// Some clients send results without the calls that they answer.
	const calls = later.reduce((sum, { tool_calls = [] }) => sum + tool_calls.length, 0);
	const made = Math.max(calls, later.filter(({ role }) => role === "tool").length);
	const requests = requestsIn(user.text, tools);
	const [first] = tools;
	if (requests.length === 0 && forced && first) requests.push({ tool: first });
	const next = requests[made];
	return next && { name: next.tool.function.name, arguments: argumentsOf(next) };
}

/** The tools that may be called, and whether one must be. */
function offeredTools(input: ChatInput): { tools: ChatTool[]; forced: boolean } {
	const { tools = [], tool_choice = "auto" } = narrowTools(input);
	if (tool_choice === "none") return { tools: [], forced: false };
	if (typeof tool_choice !== "object") return { tools, forced: tool_choice === "required" };
	const { name } = tool_choice.function;
	return { tools: tools.filter((tool) => tool.function.name === name), forced: true };
}

const CODE = /```[\s\S]*?(?:```|$)/g;
const BLOCK = /<([a-z][\w-]{0,60})\b[^<>]{0,500}>[\s\S]*?(?:<\/\1>|$)/gi;
const START =
	/\b(?:use|call|run|invoke|execute)\s+(?:(?:the|your|my|a|an)\s+)?(?<noun>(?:tool|function)\s+)?(?:(?:named|called)\s+)?(?<mark>["'`“‘]?)/gi;
/** The words that may stand between the beginning of a clause and the verb. After other words, the tool is only mentioned. */
const LEAD_IN =
	/^\s*(?:(?:[-*•]|\d+[.)])\s+)?(?:(?:please|now|also|first|next|finally|just|again|go ahead|(?:can|could|would|will) you|you (?:can|may|must|should)|i (?:want|need|ask) you to|i(?: would|['’]d) like you to|let['’]?s)\s+)*$/i;
/** After the name of the tool: the request is negated, or for later. */
const NOT_YET = /^[^.,!?;\n]*\b(?:never|not|later)\b/i;
const NOT_REQUESTED =
	/n['’]t\b|\b(?:not|never|no|nobody|nothing|stop|without|avoid|instead|rather|how|when|whenever|whether|why|what|which|who|if|unless|until|before|after|while|are|is|was|were|did|does|have|has|had)\b/i;
const WORD = /[\p{L}\p{N}]+/gu;
const ARTICLES = new Set(["the", "a", "an", "my", "your", "our"]);

const plainName = (name: string): string => name.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();
/** `get_weather` and `CronCreate` have several words; `Read` has one, which prose has as well, so it needs "the … tool" or quotes. */
const hasSeveralWords = (name: string): boolean =>
	/[\p{L}\p{N}][^\p{L}\p{N}]+[\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name);

function requestsIn(typed: string, tools: ChatTool[]): Request[] {
	const text = typed.replace(CODE, " ").replace(BLOCK, " ");
	const byName = new Map(tools.map((tool) => [plainName(tool.function.name), tool]));
	const requests: Request[] = [];
	let end = 0;
	let verbs = 0;
	for (const { 0: start, index, groups = {} } of text.matchAll(START)) {
		if (++verbs > MAX_VERBS) break;
		if (index < end || !isRequested(text.slice(Math.max(0, index - CLAUSE), index))) continue;
		const found = nameAt(text, index + start.length, byName);
		if (!found) continue;
		const rest = text.slice(found.end);
		if (NOT_YET.test(rest)) continue;
		const isMarked =
			Boolean(groups.noun || groups.mark) || /^["'`”’]?\s*(?:\(|(?:tool|function)\b)/i.test(rest);
		if (!isMarked && !hasSeveralWords(found.tool.function.name)) continue;
		const { literal, length } = objectAfter(rest);
		end = found.end + length;
		requests.push({ tool: found.tool, literal });
		if (requests.length === MAX_CALLS) break;
	}
	return requests;
}

/** Whether the words before a verb make it a request: no negation, condition or question, and no other subject. */
function isRequested(before: string): boolean {
	const sentence = before.split(/[.!?;]\s|\n/).at(-1) ?? "";
	const clause = sentence.split(/,|\band\b|\bthen\b/i).at(-1) ?? "";
	return LEAD_IN.test(clause) && !NOT_REQUESTED.test(sentence);
}

/** The tool with the longest name that stands at this place. */
function nameAt(
	text: string,
	from: number,
	byName: ReadonlyMap<string, ChatTool>,
): { tool: ChatTool; end: number } | undefined {
	let name = "";
	let end = from;
	let found: { tool: ChatTool; end: number } | undefined;
	WORD.lastIndex = from;
	for (let count = 0; count < MAX_NAME_WORDS; count++) {
		const match = WORD.exec(text);
		if (!match || !/^[\s_./:-]{0,3}$/.test(text.slice(end, match.index))) break;
		const word = match[0].toLowerCase();
		end = WORD.lastIndex;
		if (name !== "" && ARTICLES.has(word)) continue;
		name += word;
		const tool = byName.get(name);
		if (tool && !/^[\w-]/.test(text.slice(end, end + 1))) found = { tool, end };
	}
	return found;
}

function argumentsOf({ tool, literal }: Request): Record<string, unknown> {
	const document = new SchemaDocument(tool.function.parameters ?? NO_PARAMETERS);
	if (literal && document.accepts(literal)) return literal;
	const made = placeholder(document)?.value;
	return isRecord(made) ? made : {};
}

/** The JSON object that follows a name in the same sentence, and how many characters it ends after. */
function objectAfter(rest: string): { literal?: Record<string, unknown>; length: number } {
	const start = /^[^{}.!?;]{0,60}(?=\{)/.exec(rest)?.[0].length;
	if (start === undefined) return { length: 0 };
	let end = start;
	for (let tries = 0; tries < MAX_BRACES; tries++) {
		end = rest.indexOf("}", end) + 1;
		if (end === 0) break;
		try {
			const value: unknown = JSON.parse(rest.slice(start, end));
			return isRecord(value) ? { literal: value, length: end } : { length: end };
		} catch {}
	}
	return { length: 0 };
}
