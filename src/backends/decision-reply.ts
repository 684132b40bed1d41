/** The answers of an engine with decisions: Workers AI's Clef models, and System One (`/v1/systemone`). */
import * as z from "zod";
import { isRecord } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { messagesUsage } from "../core/usage-formats.ts";
import type { DecisionInput, DecisionOutput } from "../tasks/decision/types.ts";

/** Engines compute probabilities with floating-point numbers, so a rounding may lead outside of 0 to 1 by this. */
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

export function decisionOutput(
	reply: z.output<ReturnType<typeof DecisionReply>>,
	{ questions }: Pick<DecisionInput, "questions">,
): DecisionOutput {
	const answers = Object.entries(reply.answers).map(([id, answer]) => {
		if (answer.type !== "score") return [id, answer] as const;
		const question = questions[id];
		const levels = question?.type === "score" ? question.criteria : [];
		return [id, { ...answer, legend: answer.legend ?? Object.fromEntries(levels.entries()) }] as const;
	});
	return { answers: Object.fromEntries(answers), usage: reply.usage };
}
