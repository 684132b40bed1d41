/** Walks a plan to the first target that answers. What fails for good ends the walk; what another may do better goes on. */
import type { BackendTasks, CallContext, Target, World } from "../backends/backend.ts";
import { BACKENDS } from "../backends/index.ts";
import { AiError, toAiError } from "../errors.ts";
import type { Plan, Services } from "../request.ts";
import type { Answer, TaskAnswer, TaskCall, TaskInput, TaskName } from "../tasks/task.ts";

export type DispatchServices = World & Pick<Services, "log">;

export interface Dispatched {
	answer: TaskAnswer;
	backend: string;
}

export async function dispatch(
	plan: Plan,
	call: TaskCall,
	context: CallContext & { requestId: string },
	services: DispatchServices,
): Promise<Dispatched> {
	let failure: AiError | undefined;
	for (const target of plan) {
		if (context.signal.aborted) throw new AiError("aborted");
		const ask = handler(target, call, services);
		if (!ask) {
			failure ??= new AiError(
				"noSuchModel",
				`No such model ${context.model.id} or task: backend '${target.backend}' (${target.kind}) has no ${call.task}`,
			);
			continue;
		}
		try {
			const answer = await ask(call.input, context);
			return { answer: { task: call.task, answer } as TaskAnswer, backend: target.backend };
		} catch (error) {
			if (context.signal.aborted) throw new AiError("aborted", undefined, { cause: error });
			failure = toAiError(error);
			if (!failure.retryable) throw failure;
			// The last one is the caller's to see, and its surface's to log.
			if (target !== plan.at(-1)) services.log(failure, context.requestId);
		}
	}
	throw failure ?? new AiError("executionFailed");
}

type Handler = (input: TaskInput<TaskName>, context: CallContext) => Promise<Answer>;

/** The compiler cannot see that a task's handler takes that task's input: the table's type says it. */
function handler(target: Target, call: TaskCall, services: World): Handler | undefined {
	const tasks: BackendTasks = BACKENDS[target.kind](target, services);
	return tasks[call.task] as Handler | undefined;
}
