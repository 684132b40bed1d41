/** Decisions (the Clef models): each option of a question has the same probability, for all states. */
import { decisionTokens } from "../../tasks/decision/index.ts";
import type { DecisionAnswer, DecisionInput, Question } from "../../tasks/decision/types.ts";
import type { Answer } from "../../tasks/task.ts";

export async function decision(input: DecisionInput): Promise<Answer<"decision">> {
	const answers = Object.fromEntries(
		Object.entries(input.questions).map(([id, question]) => [id, undecided(question)]),
	);
	// No text is written, so no output is counted.
	const usage = { input_tokens: decisionTokens(input), output_tokens: 0 };
	return { kind: "value", output: { answers, usage } };
}

/** Rounded to six digits. The first value gets the rounding error, so that the sum is 1. */
function uniform(count: number): number[] {
	const round = (value: number): number => Math.round(value * 1e6) / 1e6;
	const share = round(1 / count);
	return Array.from({ length: count }, (_, index) => (index === 0 ? round(1 - share * (count - 1)) : share));
}

function undecided(question: Question): DecisionAnswer {
	switch (question.type) {
		case "noul":
			return { type: "noul", noul: 0.5 };
		case "choice": {
			const options = Object.keys(question.criteria);
			const shares = uniform(options.length);
			return {
				type: "choice",
				choice: options[0] ?? "",
				probabilities: Object.fromEntries(options.map((option, index) => [option, shares[index] ?? 0])),
				confidence: shares[0] ?? 0,
			};
		}
		case "score": {
			const shares = uniform(question.criteria.length);
			return {
				type: "score",
				score: (question.criteria.length - 1) / 2,
				legend: Object.fromEntries(question.criteria.entries()),
				probabilities: Object.fromEntries(shares.entries()),
				confidence: shares[0] ?? 0,
			};
		}
		default:
			return question satisfies never;
	}
}
