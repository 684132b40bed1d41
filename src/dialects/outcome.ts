import { AiError } from "../core/errors.ts";
import type { TaskAnswer, TaskName, TaskOutput } from "../tasks/task.ts";

/** The value that a task was answered with. A stream, or another task's answer, is a fault of the backend. */
export function outcomeOf<Name extends TaskName>(task: Name, answer: TaskAnswer): TaskOutput<Name> {
	if (answer.task === task && answer.answer.kind === "value") return answer.answer.output as TaskOutput<Name>;
	if (answer.answer.kind === "stream") answer.answer.events.cancel().catch(() => {});
	throw new AiError("executionFailed");
}
