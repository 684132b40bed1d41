/** How far the calls and results since the user's last message have come. */
import { type ChatInput, textOf } from "../../tasks/text-generation.ts";

/** A tool's answer, as the conversation brings it. */
export interface Result {
	/** Empty where nobody says which tool it was. */
	name: string;
	content: string;
}

/** The calls of the conversation's last round and before, since the user spoke. */
export interface Progress {
	rounds: number;
	made: { name: string; arguments: string }[];
	results: Result[];
}

export function progress({ messages }: ChatInput): Progress {
	const since = messages.findLastIndex(({ role }) => role === "user") + 1;
	const done: Progress = { rounds: 0, made: [], results: [] };
	const named = new Map<string, string>();
	let inResults = false;
	for (const message of messages.slice(since)) {
		for (const { id, function: called } of message.tool_calls ?? []) {
			named.set(id, called.name);
			done.made.push({ name: called.name, arguments: canonical(called.arguments) });
		}
		if (message.role !== "tool") {
			inResults = false;
			continue;
		}
		// A round is one run of results: some clients send them without the calls they answer.
		if (!inResults) done.rounds++;
		inResults = true;
		const name = named.get(message.tool_call_id ?? "") ?? message.name ?? "";
		done.results.push({ name, content: textOf(message.content) });
	}
	return done;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Arguments as one text for one meaning, whatever the order of their names. */
export function canonical(text: string): string {
	try {
		return JSON.stringify(sorted(JSON.parse(text)));
	} catch {
		return text;
	}
}

const sorted = (value: unknown): unknown =>
	Array.isArray(value)
		? value.map(sorted)
		: isRecord(value)
			? Object.fromEntries(
					Object.entries(value)
						.sort(([a], [b]) => (a < b ? -1 : 1))
						.map(([key, inner]) => [key, sorted(inner)]),
				)
			: value;
