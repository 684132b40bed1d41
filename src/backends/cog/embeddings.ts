/** Embeddings: all texts in one prediction if the model accepts a list, else one prediction per text. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings/types.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { Inputs } from "./inputs.ts";
import { readModel } from "./model.ts";
import { predict } from "./predictions.ts";

const Vector = z.array(z.number()).min(1);
const Embedded = z.looseObject({ embedding: Vector });

/** `[[…]]`, `[{embedding}]`, `{embeddings: [[…]]}`; for one text also the vector alone. */
const Vectors = z.union([
	z.array(Vector),
	z.array(Embedded).transform((items) => items.map(({ embedding }) => embedding)),
	z.looseObject({ embeddings: z.array(Vector) }).transform(({ embeddings }) => embeddings),
	Vector.transform((vector) => [vector]),
	Embedded.transform(({ embedding }) => [embedding]),
]);

export async function embedTexts({ texts }: EmbeddingsInput, call: Call): Promise<Answer<"text-embeddings">> {
	const model = await readModel(call);
	const together = new Inputs(model);
	// A list in a string input is JSON: the texts may contain any separator.
	if (together.set("texts", together.typeOf("texts") === "string" ? JSON.stringify(texts) : texts))
		return { kind: "value", output: { vectors: await vectorsOf(together, texts.length, call) } };
	const vectors: number[][] = [];
	for (const text of texts) {
		const inputs = new Inputs(model);
		inputs.require("text", text, call);
		vectors.push(...(await vectorsOf(inputs, 1, call)));
	}
	return { kind: "value", output: { vectors } };
}

async function vectorsOf(inputs: Inputs, expected: number, call: Call): Promise<number[][]> {
	const { output } = await predict(call, inputs.values);
	const vectors = Vectors.safeParse(output).data;
	if (vectors?.length !== expected) throw failureOfShape(call, `${expected} embeddings`);
	return vectors;
}
