/** One task of the backend against a container of the test's own. */
import { cog } from "../../../src/backends/cog/index.ts";
import type { TaskName } from "../../../src/tasks/task.ts";
import { type Asking, askOf } from "../ask.ts";
import { predictionsOf, URL } from "./container.ts";

export const ask = askOf(cog, { url: URL, kind: "cog" });

/** What the one prediction was given. */
export async function inputOf<Name extends TaskName>({ answer, call }: Asking<Name>): Promise<unknown> {
	await answer;
	const predictions = predictionsOf(call.requests);
	if (predictions.length !== 1) throw new Error(`${predictions.length} predictions`);
	return predictions[0]?.input;
}
