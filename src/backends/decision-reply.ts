/** The answers of an engine with decisions: Workers AI's Clef models, and System One (`/v1/systemone`). */
import * as z from "zod";
import type { AiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { own } from "../core/own.ts";
import { messagesUsage } from "../core/usage-formats.ts";
import type { DecisionAnswer, DecisionInput, DecisionOutput, Question } from "../tasks/decision/types.ts";
import { type Call, failureOfShape } from "./transport/upstream-failure.ts";

/** Engines compute probabilities and scores with floating-point numbers, so a rounding may lead outside of their bounds by this. */
const ROUNDING = 1e-6;
export const Probability = z
	.number()
	.min(-ROUNDING)
	.max(1 + ROUNDING)
	.transform((share) => Math.min(1, Math.max(0, share)));
const distribution = { probabilities: z.record(z.string(), Probability), confidence: Probability };
const Legend = z.record(z.string(), z.string()).optional();

/** The counts of a decision. 0: the engine has not counted. */
export const DecisionUsage = z
	.unknown()
	.optional()
	.transform((sent): DecisionOutput["usage"] => {
		const usage = isRecord(sent) ? messagesUsage(sent) : undefined;
		return { input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0 };
	});

export const DecisionReply = lazy(() =>
	z.looseObject({
		answers: z.record(
			z.string(),
			z.discriminatedUnion("type", [
				z.object({ type: z.literal("noul"), noul: Probability }),
				z.object({ type: z.literal("choice"), choice: z.string(), ...distribution }),
				z.object({ type: z.literal("score"), score: z.number(), legend: Legend, ...distribution }),
			]),
		),
		usage: DecisionUsage,
	}),
);

/** Throws the failure of a reply that does not answer each question with one of its outcomes. */
export function decisionOutput(
	reply: z.output<ReturnType<typeof DecisionReply>>,
	{ questions }: Pick<DecisionInput, "questions">,
	call: Call,
): DecisionOutput {
	const answers = Object.entries(questions).map(([id, question]) => {
		const answer = answerTo(question, own(reply.answers, id));
		if (!answer) throw unanswered(call, reply.answers);
		return [id, answer] as const;
	});
	return { answers: Object.fromEntries(answers), usage: reply.usage };
}

export const unanswered = (call: Call, answers: unknown): AiError =>
	failureOfShape(call, "an answer to each question", answers);

export type SentAnswer = z.output<ReturnType<typeof DecisionReply>>["answers"][string];

/**
 * `undefined`: it is no answer to this question, such as an option that was not offered, a score outside of the levels, or probabilities of
 * other outcomes.
 */
export function answerTo(question: Question, answer: SentAnswer | undefined): DecisionAnswer | undefined {
	if (question.type === "noul") return answer?.type === "noul" ? answer : undefined;
	if (question.type === "choice")
		return answer?.type === "choice" &&
			Object.hasOwn(question.criteria, answer.choice) &&
			hasShares(question.criteria, answer)
			? answer
			: undefined;
	if (answer?.type !== "score" || !hasShares(question.criteria, answer)) return undefined;
	const highest = question.criteria.length - 1;
	const { legend = Object.fromEntries(question.criteria.entries()), score } = answer;
	if (score < -ROUNDING || score > highest + ROUNDING) return undefined;
	return { ...answer, legend, score: Math.min(highest, Math.max(0, score)) };
}

/** Whether only options or levels of the question have probabilities. An engine may leave out those of 0. */
function hasShares(criteria: object, { probabilities }: { probabilities: object }): boolean {
	const outcomes = new Set(Object.keys(criteria));
	return Object.keys(probabilities).every((outcome) => outcomes.has(outcome));
}
