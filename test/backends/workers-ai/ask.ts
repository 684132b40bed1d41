/** One task of the backend against a service of the test's own. */
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import type { TaskInput, TaskName } from "../../../src/tasks/task.ts";
import { type Asking, askOf } from "../ask.ts";
import type { Responder } from "../upstream.ts";
import { modelOf } from "./models.ts";

export const URL = "https://api.cloudflare.com/client/v4/accounts/abc/ai";

const askWorkersAi = askOf(workersAi, { url: URL, kind: "workers-ai" });

export const ask = <Name extends TaskName>(
	task: Name,
	model: string,
	input: TaskInput<Name>,
	respond: Responder,
	upstreamModel = model,
): Asking<Name> =>
	askWorkersAi(task, input, respond, { target: { model: upstreamModel }, model: modelOf(model) });
