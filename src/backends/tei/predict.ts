/** `/predict`: every label of the model with its probability, best first. A text that is too long is truncated. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { ClassifyTextInput } from "../../tasks/text-classification/types.ts";
import { postJson } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";

const PredictReply = z.array(z.looseObject({ label: z.string(), score: z.number() })).min(1);

export async function classifyText(
	{ text }: ClassifyTextInput,
	call: Call,
): Promise<Answer<"text-classification">> {
	const predictions = await postJson(
		call,
		"/predict",
		{ inputs: text, raw_scores: false, truncate: true },
		PredictReply,
	);
	return { kind: "value", output: { labels: predictions.map(({ label, score }) => ({ label, score })) } };
}
