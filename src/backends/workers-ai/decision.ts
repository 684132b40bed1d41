/** Decisions: the Clef models' `{model, state, questions, images?, audio?, videos?}`. */
import * as z from "zod";
import type { Handler } from "../handler.ts";
import { runJson } from "./run.ts";

const distribution = { probabilities: z.record(z.string(), z.number()), confidence: z.number() };
const Legend = z.record(z.string(), z.string()).optional();

const DecisionReply = z.looseObject({
	answers: z.record(
		z.string(),
		z.discriminatedUnion("type", [
			z.object({ type: z.literal("noul"), noul: z.number() }),
			z.object({ type: z.literal("choice"), choice: z.string(), ...distribution }),
			z.object({ type: z.literal("score"), score: z.number(), legend: Legend, ...distribution }),
		]),
	),
	usage: z.object({ input_tokens: z.int(), output_tokens: z.int().default(0) }).nullish(),
});

export const decide: Handler<"decision"> = async ({ state, questions, images, audio, videos }, call) => {
	const { model } = call.target;
	const inputs = {
		// The model's name without its namespace.
		model: model.slice(model.lastIndexOf("/") + 1),
		state,
		questions,
		...(images.length > 0 && { images }),
		...(audio.length > 0 && { audio }),
		...(videos.length > 0 && { videos }),
	};
	const reply = await runJson(call, inputs, DecisionReply);
	const answers = Object.entries(reply.answers).map(([id, answer]) => {
		if (answer.type !== "score") return [id, answer] as const;
		const question = questions[id];
		const levels = question?.type === "score" ? question.criteria : [];
		return [id, { ...answer, legend: answer.legend ?? Object.fromEntries(levels.entries()) }] as const;
	});
	const usage = reply.usage ?? { input_tokens: 0, output_tokens: 0 };
	return { answers: Object.fromEntries(answers), usage };
};
