import { AiError } from "../core/errors.ts";
import type { TaskAnswer, TaskName, TaskOutput } from "../tasks/task.ts";

/**
 * The output of an answer with a complete value. A stream, or an answer to another task, is a fault of the backend:
 * 5001.
 */
export function outputValue<Name extends TaskName>(task: Name, answer: TaskAnswer): TaskOutput<Name> {
	if (answer.task === task && answer.answer.kind === "value") return answer.answer.output as TaskOutput<Name>;
	if (answer.answer.kind === "stream") answer.answer.events.cancel().catch(() => {});
	throw new AiError("executionFailed");
}
