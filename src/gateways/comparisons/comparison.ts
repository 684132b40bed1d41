/**
 * An answer beside the answer of a log. The fields have the names of AI Gateway's API. All texts are cut, also those that a model repeats without
 * end, because a comparison is one row, with at most 2 MB of JSON.
 */
import { payloadOf } from "../logs/payload.ts";
import { answerIn, type LoggedAnswer, structureOf } from "./answers.ts";
import { differencesOf } from "./differences.ts";
import type { ComparedAnswer, Comparison } from "./records.ts";

/** Characters of a text that are kept. */
const MAX_TEXT = 32_768;
const MAX_CALLS = 16;
const MAX_NAME = 128;
const MAX_ARGUMENTS = 2_048;

/** What is known of an answer beside its text: the fields of its log. */
export type AnswerFacts = Omit<ComparedAnswer, "text" | "text_complete" | "tool_calls">;

/** The part of the row of a log that describes its answer. */
export const factsOf = ({
	provider,
	model,
	status_code: status,
	tokens_in,
	tokens_out,
	cost,
	duration,
}: Omit<AnswerFacts, "status" | "duration"> & { status_code: number; duration: number }): AnswerFacts => ({
	...{ provider, model, status, tokens_in, tokens_out, cost, duration },
});

export function comparedAnswer(facts: AnswerFacts, { text, calls }: LoggedAnswer): ComparedAnswer {
	const kept = cut(text);
	return {
		...facts,
		text: kept,
		text_complete: kept === text && calls.length <= MAX_CALLS,
		...(calls.length > 0 && {
			tool_calls: calls
				.slice(0, MAX_CALLS)
				.map(({ name, input }) => ({ name: cut(name, MAX_NAME), arguments: cut(input, MAX_ARGUMENTS) })),
		}),
	};
}

/** The comparison of two answers. `text`: their bodies, JSON or the events of a stream. */
export function comparisonOf(
	log: string,
	before: { facts: AnswerFacts; text: string },
	after: { facts: AnswerFacts; text: string },
): Comparison {
	const answers = { before: answerIn(before.text), after: answerIn(after.text) };
	const structures = { before: structureOf(answers.before), after: structureOf(answers.after) };
	const compared =
		structures.before !== undefined && structures.after !== undefined
			? differencesOf(structures.before, structures.after)
			: undefined;
	const isSameText =
		answers.before.text.trim() === answers.after.text.trim() &&
		JSON.stringify(answers.before.calls) === JSON.stringify(answers.after.calls);
	return {
		log,
		before: comparedAnswer(before.facts, answers.before),
		after: comparedAnswer(after.facts, answers.after),
		same: compared ? compared.differences.length === 0 : isSameText,
		...(compared && { differences: compared.differences, differences_complete: compared.isComplete }),
	};
}

/** Of the JSON of a text, for each of its most characters: control characters have six. */
const MAX_JSON_PER_CHARACTER = 2;

/** The first `max` characters, or fewer if their JSON is too long. */
export function cut(text: string, max = MAX_TEXT): string {
	let kept = payloadOf(text, max).text;
	while (JSON.stringify(kept).length - 2 > max * MAX_JSON_PER_CHARACTER)
		kept = payloadOf(kept, Math.floor(kept.length / 2)).text;
	return kept;
}
