/** Decisions: the Clef models' `{model, state, questions, images?, audio?, videos?}`. */
import * as z from "zod";
import type { DecisionInput } from "../../tasks/decision/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { runJson, value } from "./run.ts";

const Shares = z.record(z.string(), z.number());

const DecisionReply = z.looseObject({
	answers: z.record(
		z.string(),
		z.discriminatedUnion("type", [
			z.object({ type: z.literal("noul"), noul: z.number() }),
			z.object({
				type: z.literal("choice"),
				choice: z.string(),
				probabilities: Shares,
				confidence: z.number(),
			}),
			z.object({
				type: z.literal("score"),
				score: z.number(),
				legend: z.record(z.string(), z.string()).optional(),
				probabilities: Shares,
				confidence: z.number(),
			}),
		]),
	),
	usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int().default(0) }).nullish(),
});

export async function decide(input: DecisionInput, call: Call): Promise<Answer<"decision">> {
	const { state, questions, images, audio, videos } = input;
	const { target } = call;
	const reply = await runJson(
		call,
		{
			// The model's name without its namespace.
			model: target.model.slice(target.model.lastIndexOf("/") + 1),
			state,
			questions,
			...(images.length > 0 && { images }),
			...(audio.length > 0 && { audio }),
			...(videos.length > 0 && { videos }),
		},
		DecisionReply,
	);
	const answers = Object.entries(reply.answers).map(([id, answer]) => {
		if (answer.type !== "score") return [id, answer] as const;
		const question = questions[id];
		const levels = question?.type === "score" ? question.criteria : [];
		return [id, { ...answer, legend: answer.legend ?? Object.fromEntries(levels.entries()) }] as const;
	});
	return value({
		answers: Object.fromEntries(answers),
		usage: {
			input_tokens: reply.usage?.input_tokens ?? 0,
			output_tokens: reply.usage?.output_tokens ?? 0,
		},
	});
}
