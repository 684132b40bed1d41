/**
 * Text Embeddings Inference: https://huggingface.github.io/text-embeddings-inference. One server has one model, so the
 * target's `model` is not sent, and a task that the model was not made for is refused with 424.
 *
 * How token vectors are pooled is the server's to say. Its own counts of tokens come in a header only (`x-compute-tokens`),
 * so answers have no usage.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { embedTexts } from "./embed.ts";
import { classifyText } from "./predict.ts";
import { rerank } from "./rerank.ts";

export const tei: Backend = (target, world) => {
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			ask(input, { ...context, target, world });
	return {
		"text-embeddings": entry(embedTexts),
		reranking: entry(rerank),
		"text-classification": entry(classifyText),
	};
};
