/**
 * The order of tool results that hosted services require: directly after the message with the calls, one for each call. Clients send
 * them in another order, after other messages, or one without the other, after they have shortened a conversation or after an
 * interruption. A call without a result gets one that says so, as coding agents do themselves. A result without a call is text of the
 * user: the model can still read it.
 *
 * A conversation in the right order is not changed, so that caches of prompts stay valid. So are calls at its end.
 */
import type { ChatMessage, ContentPart } from "../tasks/text-generation/types.ts";

/** A message, or a part of one, with the ids of its calls or of the call that it answers. */
export interface ConversationPart<Value> {
	value: Value;
	calls?: readonly string[] | undefined;
	result?: string | undefined;
}

interface Repair<Value> {
	/** The result of a call that has none. */
	missing(id: string): Value;
	/** A result that answers no call. */
	orphan(result: Value): Value;
}

export const NO_RESULT = "There is no result of this call.";
export const ORPHAN_HEADING = "The result of a tool call that is not in the conversation:";

/** `undefined`: the parts are in the right order. */
export function pairParts<Value>(
	parts: readonly ConversationPart<Value>[],
	{ missing, orphan }: Repair<Value>,
): Value[] | undefined {
	if (isPaired(parts)) return undefined;
	const answers = answersOf(parts);
	const placed = new Set(answers.values());
	return parts.flatMap(({ value, calls = [], result }, at): Value[] => {
		if (result !== undefined) return placed.has(at) ? [] : [orphan(value)];
		if (at === parts.length - 1) return [value];
		const results = calls.map((id, place) => {
			const answer = answers.get(callKey(at, place));
			return answer === undefined ? missing(id) : (parts[answer] as ConversationPart<Value>).value;
		});
		return [value, ...results];
	});
}

function isPaired(parts: readonly ConversationPart<unknown>[]): boolean {
	const pending = new Set<string>();
	let hasResult = false;
	for (const { calls, result } of parts) {
		if (result !== undefined) {
			if (!pending.delete(result)) return false;
			hasResult = true;
			continue;
		}
		if (pending.size > 0) return false;
		for (const id of calls ?? []) pending.add(id);
		hasResult = false;
	}
	return pending.size === 0 || !hasResult;
}

const callKey = (at: number, place: number): string => `${at} ${place}`;

/** The calls and results of one id that have no counterpart yet. */
interface Unpaired {
	calls: string[];
	results: number[];
	/** How many of the results are answers of a call after them. */
	paired: number;
}

/**
 * The place of the result of each call that has one. An id may be that of several calls: a result is that of the last one before it, or
 * else of the next one. One pass, because a conversation may have any number of both.
 */
function answersOf(parts: readonly ConversationPart<unknown>[]): ReadonlyMap<string, number> {
	const answers = new Map<string, number>();
	const unpaired = new Map<string, Unpaired>();
	const unpairedOf = (id: string): Unpaired => {
		const known = unpaired.get(id) ?? { calls: [], results: [], paired: 0 };
		unpaired.set(id, known);
		return known;
	};
	for (const [at, { calls = [], result }] of parts.entries()) {
		if (result !== undefined) {
			const { calls: before, results } = unpairedOf(result);
			const call = before.pop();
			if (call === undefined) results.push(at);
			else answers.set(call, at);
		}
		for (const [place, id] of calls.entries()) {
			const same = unpairedOf(id);
			const answer = same.results[same.paired];
			if (answer === undefined) same.calls.push(callKey(at, place));
			else {
				same.paired++;
				answers.set(callKey(at, place), answer);
			}
		}
	}
	return answers;
}

/** @param orphans `keep`: for engines, whose chat templates accept results without calls. */
export function pairResults(messages: readonly ChatMessage[], orphans: "keep" | "text"): ChatMessage[] {
	const parts = messages.map((value) => ({
		value,
		calls: value.tool_calls?.map(({ id }) => id),
		result: value.role === "tool" ? (value.tool_call_id ?? "") : undefined,
	}));
	const missing = (tool_call_id: string): ChatMessage => ({ role: "tool", tool_call_id, content: NO_RESULT });
	const orphan = orphans === "keep" ? (result: ChatMessage) => result : asText;
	return pairParts(parts, { missing, orphan }) ?? [...messages];
}

function asText({ content }: ChatMessage): ChatMessage {
	if (!Array.isArray(content)) return { role: "user", content: `${ORPHAN_HEADING}\n${content ?? ""}` };
	const heading: ContentPart = { type: "text", text: ORPHAN_HEADING };
	return { role: "user", content: [heading, ...content] };
}
