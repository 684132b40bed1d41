/** One task of the backend against a container of the test's own. */
import { cog } from "../../../src/backends/cog/index.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import { callOf, type Responder, type TestCall } from "../upstream.ts";
import { predictionsOf, URL } from "./container.ts";

export function ask<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	respond: Responder,
): { call: TestCall; answer: Promise<Answer<Name>> } {
	const call = callOf(respond, { target: { url: URL, kind: "cog" } });
	const handler = cog(call.target, call.services)[task];
	if (!handler) throw new Error(`no ${task}`);
	return { call, answer: handler(input, call) };
}

export async function outputOf<Name extends TaskName>(asking: {
	answer: Promise<Answer<Name>>;
}): Promise<TaskOutput<Name>> {
	const answer = await asking.answer;
	if (answer.kind !== "value") throw new Error("a stream");
	return answer.output;
}

/** What the one prediction was given. */
export async function inputOf<Name extends TaskName>(asking: {
	call: TestCall;
	answer: Promise<Answer<Name>>;
}): Promise<unknown> {
	await asking.answer;
	const predictions = predictionsOf(asking.call.requests);
	if (predictions.length !== 1) throw new Error(`${predictions.length} predictions`);
	return predictions[0]?.input;
}
