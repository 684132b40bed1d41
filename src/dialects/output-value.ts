/** The output of an answer, for writers of complete answers. */
import type { z } from "zod";
import { AiError } from "../core/errors.ts";
import { cancelAnswer, type TaskAnswer, type TaskName, type TaskOutput } from "../tasks/task.ts";
import type { NativeWriter, WriteContext } from "./dialect.ts";

/**
 * The output of an answer with a complete value. Another kind of answer, or an answer to another task, is a fault of the backend:
 * 5001.
 */
export function outputValue<Name extends TaskName>(task: Name, answer: TaskAnswer): TaskOutput<Name> {
	if (answer.task === task && answer.answer.kind === "value") return answer.answer.output as TaskOutput<Name>;
	cancelAnswer(answer.answer);
	throw new AiError("executionFailed");
}

/** A writer of JSON. `write` converts the output of the task. */
export const jsonWriter = <Name extends TaskName, Schema extends z.ZodType>(
	task: Name,
	schema: Schema,
	write: (output: TaskOutput<Name>, context: WriteContext) => z.input<Schema>,
): NativeWriter => ({
	schema,
	write: (answer, context) => ({ kind: "json", value: write(outputValue(task, answer), context) }),
});
