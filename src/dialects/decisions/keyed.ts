/**
 * Decisions with a map of questions: System One's (`POST /v1/systemone`, TypeSafe's `jev` models, Ollama, vLLM) and Google's
 * (`POST /v1beta/decisions`, `@google/genai` 3.3).
 *
 * Differences: at most 64 questions and 10 levels; images must be part of the request. An answer of a model that was prompted has
 * `method: "prompted"`.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { DecisionAnswer, DecisionOutput, Question } from "../../tasks/decision/types.ts";
import type { WriteContext } from "../dialect.ts";
import { rendered } from "../text/decision.ts";
import {
	answerAt,
	Instructions,
	instructionsText,
	LEVELS,
	methodOf,
	OPTIONS,
	requireFew,
} from "./questions.ts";

const Detail = z.string().nullish();
const count = (map: object): number => Object.keys(map).length;

const SentQuestion = lazy(() =>
	z.discriminatedUnion("type", [
		z.strictObject({
			type: z.literal("noul"),
			instructions: Instructions(),
			criteria: z
				.strictObject({ true: Detail, false: Detail, true_description: Detail, false_description: Detail })
				.nullish(),
		}),
		z.strictObject({
			type: z.literal("choice"),
			instructions: Instructions(),
			criteria: z
				.record(z.string().min(1), Detail)
				.refine(
					(map) => count(map) >= OPTIONS.min && count(map) <= OPTIONS.max,
					`expected ${OPTIONS.min} to ${OPTIONS.max} options`,
				),
		}),
		z.strictObject({
			type: z.literal("score"),
			instructions: Instructions(),
			criteria: z.array(z.string().min(1)).min(LEVELS.min).max(LEVELS.max),
		}),
	]),
);
type SentQuestion = z.output<ReturnType<typeof SentQuestion>>;

const common = lazy(() => ({
	model: z.string().min(1),
	questions: z.record(z.string(), SentQuestion()).refine((map) => count(map) > 0, "expected a question"),
}));

export const SystemOne = lazy(() =>
	z.strictObject({
		contract: z.literal("systemone"),
		...common(),
		state: z.unknown().refine((state) => state !== undefined, "expected a state"),
		/** Base64, or data URLs. */
		images: z.array(z.string().min(1)).max(4).nullish(),
	}),
);
export const GoogleDecision = lazy(() =>
	z.strictObject({
		contract: z.literal("google"),
		...common(),
		input: z.union([z.string().min(1), z.looseObject({}), z.array(z.looseObject({})).min(1)]),
	}),
);
type Keyed = z.output<ReturnType<typeof SystemOne>> | z.output<ReturnType<typeof GoogleDecision>>;

/** Throws 8001. */
export function readKeyedQuestions(questions: Readonly<Record<string, SentQuestion>>): Question[] {
	requireFew(count(questions));
	return Object.entries(questions).map(([id, question]) => {
		const instructions = instructionsText(question.instructions, `questions.${id.slice(0, 64)}`);
		switch (question.type) {
			case "noul": {
				const sent = question.criteria;
				const [yes, no] = [sent?.true ?? sent?.true_description, sent?.false ?? sent?.false_description];
				const criteria = { ...(yes != null && { true: yes }), ...(no != null && { false: no }) };
				return { type: "noul", instructions, ...(sent && { criteria }) };
			}
			case "choice": {
				const options = Object.entries(question.criteria).map(([option, detail]) => [option, detail ?? ""]);
				return { type: "choice", instructions, criteria: Object.fromEntries(options) };
			}
			case "score":
				return { type: "score", instructions, criteria: question.criteria };
			default:
				return question satisfies never;
		}
	});
}

const answersOf = (
	output: DecisionOutput,
	inputs: unknown,
	write: (answer: DecisionAnswer) => object,
): Record<string, object> =>
	Object.fromEntries(
		Object.keys((inputs as Keyed).questions).flatMap((id, index) => {
			const answer = answerAt(output, index);
			return answer ? [[id, write(answer)] as const] : [];
		}),
	);

export const systemOneReply = (output: DecisionOutput, { inputs, model }: WriteContext): object => ({
	model: model.id,
	answers: answersOf(output, inputs, rendered),
	usage: output.usage,
	...methodOf(output),
});

export const googleReply = (output: DecisionOutput, { inputs }: WriteContext): object => {
	const { input_tokens, output_tokens } = output.usage;
	return {
		answers: answersOf(output, inputs, googleAnswer),
		usage: {
			total_input_tokens: input_tokens,
			total_output_tokens: output_tokens,
			total_tokens: input_tokens + output_tokens,
		},
		...methodOf(output),
	};
};

const MIN_NOUL = 0.01;

/** Google's confidence is the probability of the outcome. */
function googleAnswer(answer: DecisionAnswer): object {
	const shown = rendered(answer);
	if (shown.type !== "noul") return { ...shown, confidence: Math.max(...Object.values(shown.probabilities)) };
	const noul = Math.min(1 - MIN_NOUL, Math.max(MIN_NOUL, shown.noul));
	return { type: "noul", noul, confidence: Math.max(noul, 1 - noul) };
}
