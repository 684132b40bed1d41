/**
 * Text Embeddings Inference: https://huggingface.github.io/text-embeddings-inference. One server has one model, so the
 * target's `model` is not sent, and the server refuses a task that the model does not support with 424.
 *
 * The server decides how token vectors are pooled. It counts tokens only in a header (`x-compute-tokens`), so answers have
 * no usage.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { embedTexts } from "./embed.ts";
import { classifyText } from "./predict.ts";
import { rerank } from "./rerank.ts";

export const tei: Backend = (target, services) => {
	const bind =
		<Name extends TaskName>(run: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			run(input, { ...context, target, services });
	return {
		"text-embeddings": bind(embedTexts),
		reranking: bind(rerank),
		"text-classification": bind(classifyText),
	};
};
