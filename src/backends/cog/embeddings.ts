/** Embeddings: all texts in one prediction if the model accepts a list, else one prediction per text. */
import * as z from "zod";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { Handler } from "../handler.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { CogInputs } from "./inputs.ts";
import { readModel } from "./model.ts";

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

export const embedTexts: Handler<"text-embeddings"> = async ({ texts }, call) => {
	const model = await readModel(call);
	const together = new CogInputs(model, call);
	// A list in a string input is JSON: the texts may contain any separator.
	if (together.set("texts", together.typeOf("texts") === "string" ? JSON.stringify(texts) : texts))
		return { vectors: await vectorsOf(together, texts.length, call) };
	const vectors: number[][] = [];
	for (const text of texts) {
		const inputs = new CogInputs(model, call);
		inputs.require("text", text);
		vectors.push(...(await vectorsOf(inputs, 1, call)));
	}
	return { vectors };
};

async function vectorsOf(inputs: CogInputs, expected: number, call: Call): Promise<number[][]> {
	const { output } = await inputs.predict();
	const vectors = safeParse(Vectors, output).data;
	if (vectors?.length !== expected) throw failureOfShape(call, `${expected} embeddings`, output);
	return vectors;
}
