/**
 * Which tools a conversation asks for, and with what. The last message of the user is cut into clauses; each clause
 * that shares enough with a tool's name and description is a step, filled from its words by the tool's schema. Steps
 * that were taken are not taken again, so every loop of calls and results comes to its end.
 */
import type { ChatInput, ChatTool } from "../../tasks/text-generation.ts";
import { type Conversation, spelledOut } from "./conversation.ts";
import type { Effort } from "./effort.ts";
import { Evidence } from "./evidence.ts";
import { expressionIn, NUMBER_WORD } from "./expression.ts";
import { instanceOf } from "./instance.ts";
import { SchemaDocument } from "./json-schema.ts";
import { KINDS, kindOf } from "./kinds.ts";
import { after, names, numbers, quoted } from "./phrases.ts";
import { canonical, isRecord, progress } from "./progress.ts";
import { Source } from "./source.ts";
import { sentences, within } from "./text.ts";
import { computes, ENOUGH, type Profile, profile, reading, WORTH, worth } from "./tool-fit.ts";

/** Rounds of calls and results after one message of the user. */
const MAX_ROUNDS = 5;
const MAX_CALLS = 8;
/** Clauses read of one message. */
const MAX_PIECES = 32;
const MAX_CHARACTERS = 4_000;
/** Of a clause that is an argument for want of a better. */
const MAX_FALLBACK_CHARACTERS = 500;
/** Earlier turns, and results of tools, that arguments may come from. */
const MAX_TURNS = 6;
const MAX_RESULTS = 16;
const NO_PARAMETERS = { type: "object", properties: {} };

export interface Call {
	name: string;
	arguments: Record<string, unknown>;
}

interface Step {
	tool: ChatTool;
	clause: string;
	/** It waits for the steps before it. */
	waits: boolean;
}

/** The calls to make now; empty for an answer in words. */
export function callsFor(
	input: ChatInput,
	conversation: Conversation,
	{ now, effort }: { now: number; effort: Effort },
): Call[] {
	const { tools, forced } = offered(input);
	const done = progress(input);
	if (tools.length === 0 || done.rounds >= MAX_ROUNDS) return [];
	const message = within(conversation.lastMessage, MAX_CHARACTERS);
	const profiles = tools.map(profile);
	const steps = stepsOf(message, profiles);
	if (steps.length === 0 && forced && done.rounds === 0) {
		const [best] = fitting(profiles, message);
		if (best) steps.push({ tool: best.tool, clause: message, waits: false });
	}

	const earlier = conversation.turns
		.filter(({ role, text }) => role === "user" && text.trim() !== conversation.lastMessage)
		.reverse()
		.slice(0, MAX_TURNS);
	const results = done.results.map(({ content }) => spelledOut(content)).reverse();
	const found = results.slice(0, MAX_RESULTS).map((text) => new Source(text));
	const told = earlier.map(({ text }) => new Source(text));
	const taken = new Map<string, number>();
	for (const { name } of done.results) taken.set(name, (taken.get(name) ?? 0) + 1);
	const made = new Set(done.made.map((call) => `${call.name} ${call.arguments}`));
	const calls: Call[] = [];
	const documents = new Map<ChatTool, SchemaDocument>();
	for (const { tool, clause, waits } of steps) {
		if ((waits && calls.length > 0) || calls.length >= MAX_CALLS) break;
		const beside = new Source(steps.length > 1 ? message.replace(clause, " ") : "");
		const document = documents.get(tool) ?? new SchemaDocument(tool.function.parameters ?? NO_PARAMETERS);
		documents.set(tool, document);
		const material = {
			document,
			others: [...found, beside, ...told],
			result: results[0],
			forced,
			now,
			effort,
		};
		for (const call of fill(tool, clause, material)) {
			// A result that does not say whose it is answers the next step, whichever that is.
			const name = (taken.get(call.name) ?? 0) > 0 ? call.name : "";
			const left = taken.get(name) ?? 0;
			taken.set(name, left - 1);
			const key = `${call.name} ${canonical(JSON.stringify(call.arguments))}`;
			if (left > 0 || made.has(key)) continue;
			made.add(key);
			calls.push(call);
		}
	}
	return calls.slice(0, input.parallel_tool_calls === false ? 1 : MAX_CALLS);
}

/** The tools that may be called, and whether one must be. */
function offered({ tools = [], tool_choice = "auto" }: ChatInput): { tools: ChatTool[]; forced: boolean } {
	if (tool_choice === "none") return { tools: [], forced: false };
	if (tool_choice === "auto") return { tools, forced: false };
	if (tool_choice === "required") return { tools, forced: true };
	if (tool_choice.type === "function") {
		const { name } = tool_choice.function;
		return { tools: tools.filter((tool) => tool.function.name === name), forced: true };
	}
	const { mode, tools: allowed } = tool_choice.allowed_tools;
	const names = new Set(allowed.map(nameIn));
	return { tools: tools.filter((tool) => names.has(tool.function.name)), forced: mode === "required" };
}

/** `{type: "function", function: {name}}` and `{type: "function", name}` are both sent. */
function nameIn(tool: unknown): unknown {
	if (typeof tool !== "object" || tool === null) return undefined;
	if ("function" in tool) return nameIn(tool.function);
	return "name" in tool ? tool.name : undefined;
}

const CONNECTOR =
	/\s*(?:[,;]\s*)?\b(?<then>and then|then|after that|afterwards)\b,?\s+|\s*(?:[,;]\s*)?\b(?<and>and also|and)\b\s+|;\s+|,\s+(?=(?:what|who|where|when|how)\b)/gi;

const OPERAND = String.raw`(?:\d[\d,.]*|${NUMBER_WORD})`;
const OPERAND_BEFORE = new RegExp(String.raw`(?<![\p{L}\p{N}])${OPERAND}$`, "iu");
const OPERAND_BEHIND = new RegExp(String.raw`^${OPERAND}(?![\p{L}\p{N}])`, "iu");

/** A message in pieces that may each ask for something: sentences, cut where "and" or "then" joins two. */
function pieces(message: string): { text: string; waits: boolean }[] {
	return sentences(message).flatMap((sentence) => {
		const kept = quoted(sentence).map(({ value, index }) => [index, index + value.length] as const);
		const found: { text: string; waits: boolean }[] = [];
		let from = 0;
		let waits = false;
		for (const match of sentence.matchAll(CONNECTOR)) {
			if (kept.some(([start, end]) => match.index >= start && match.index < end)) continue;
			// "Add 2 and 3" is one sum.
			if (
				match.groups?.and &&
				OPERAND_BEFORE.test(sentence.slice(from, match.index)) &&
				OPERAND_BEHIND.test(sentence.slice(match.index + match[0].length))
			)
				continue;
			found.push({ text: sentence.slice(from, match.index), waits });
			from = match.index + match[0].length;
			waits = match.groups?.then !== undefined;
		}
		found.push({ text: sentence.slice(from), waits });
		// "Then" may also begin a sentence.
		return found.map((piece) =>
			/^(?:then|after that|afterwards)\b/i.test(piece.text) ? { ...piece, waits: true } : piece,
		);
	});
}

const TELLS =
	/^(?:(?:hi|hello|hey)[\s,!]+)?(?:i|my|we|our|it|this|that|thanks|thank)\b(?!\s+(?:want|need|would|['’]d|am looking|must|have to)\b)[^?？؟]*$/i;

/** The best first; of equals the one that the caller named first. */
function fitting(profiles: Profile[], text: string): { tool: ChatTool; value: number }[] {
	const read = reading(text);
	return profiles
		.map((one) => ({ tool: one.tool, value: worth(one, read) }))
		.sort((a, b) => b.value - a.value);
}

function stepsOf(message: string, profiles: Profile[]): Step[] {
	const steps: Step[] = [];
	for (const { text, waits } of pieces(message).slice(0, MAX_PIECES)) {
		const [best] = fitting(profiles, text);
		const asks =
			best !== undefined && best.value >= ENOUGH && (!TELLS.test(text) || best.value >= WORTH.mentioned);
		const last = steps.at(-1);
		if (asks) steps.push({ tool: best.tool, clause: text, waits: waits && last !== undefined });
		// What asks for nothing by itself goes on with what did: "… in Paris" "and in London".
		else if (last) last.clause += ` and ${text}`;
	}
	const kept = withoutReminders(steps, profiles);
	return kept.map((step, place) => (place === 0 ? { ...step, waits: false } : step));
}

/** "You MUST use the calculator tool" is no sum of its own beside those that the message has. */
function withoutReminders(steps: Step[], profiles: Profile[]): Step[] {
	const computing = new Set(profiles.filter(computes).map(({ tool }) => tool));
	const isSum = ({ tool, clause }: Step) => computing.has(tool) && expressionIn(clause) !== undefined;
	const summing = new Set(steps.filter(isSum).map(({ tool }) => tool));
	return steps.filter((step) => !summing.has(step.tool) || isSum(step) || numbers(step.clause).length > 0);
}

interface Material {
	/** The tool's parameters. */
	document: SchemaDocument;
	others: Source[];
	/** The newest result of a tool. */
	result: string | undefined;
	forced: boolean;
	now: number;
	effort: Effort;
}

/** One call, or one for each place or person that the clause enumerates for a property that takes one. */
function fill({ function: { name } }: ChatTool, clause: string, material: Material): Call[] {
	const { document, others, now, effort } = material;
	const evidence = new Evidence({ primary: clause, others, now, effort });
	const filled = instanceOf(document, {
		evidence,
		optional: "found",
		guess: true,
		written: () => undefined,
		fallback: (hint) =>
			(kindOf(hint, true) === KINDS.message ? material.result : exampleIn(hint.about)) ??
			within(clause.trim(), MAX_FALLBACK_CHARACTERS),
	});
	if (!isRecord(filled?.value)) return material.forced ? [{ name, arguments: {} }] : [];
	const first: Call = { name, arguments: filled.value };
	for (const [key, value] of Object.entries(filled.value)) {
		const kind = kindOf({ key, about: "" }, false);
		if (typeof value !== "string" || (kind !== KINDS.place && kind !== KINDS.recipient)) continue;
		const several = enumerated(clause, kind === KINDS.place ? ["in", "for", "at", "of", "near"] : ["to"]);
		if (several.length > 1 && several.includes(value))
			return several
				.map((one) => ({ name, arguments: { ...first.arguments, [key]: one } }))
				.filter((call) => document.accepts(call.arguments));
	}
	return [first];
}

/** "City name, e.g. San Francisco": what a model without better would send, too. */
const exampleIn = (about: string): string | undefined =>
	/\b(?:e\.g\.|for example|such as|like),?:?\s*["'“`]?([^"'”`);.]{1,80})/i.exec(about)?.[1]?.trim();

/** "in Paris and in London": what stands after the first preposition that has several; else several names. */
function enumerated(clause: string, prepositions: string[]): string[] {
	const lists = prepositions.map((preposition) => after(clause, preposition).map(({ value }) => value));
	const list = lists.find((found) => found.length > 1);
	if (list) return [...new Set(list)];
	return lists.every((found) => found.length === 0)
		? [...new Set(names(clause).map(({ value }) => value))]
		: [];
}
