/**
 * The width of the vectors that an engine returned: the requested one, else that of the model. Engines that cannot shorten vectors
 * ignore `dimensions`, and an index refuses vectors of another width.
 */
import type { EmbeddingsInput, EmbeddingsOutput } from "../tasks/text-embeddings/index.ts";
import { type Call, failureOfContent } from "./transport/upstream-failure.ts";

/** Throws 5001, after which the next target is tried. Of vectors as text, only the first is checked: the others are not parsed. */
export function checkWidth({ dimensions }: EmbeddingsInput, output: EmbeddingsOutput, call: Call): void {
	const width = dimensions ?? call.model.dimensions;
	if (width === undefined) return;
	const { written } = output;
	const lengths = written
		? written.rows.slice(0, 1).map(() => written.length)
		: output.vectors.map((vector) => vector.length);
	const other = lengths.find((length) => length !== width);
	if (other !== undefined)
		throw failureOfContent(call, `answered with vectors of ${other} numbers, not of ${width}`);
}
