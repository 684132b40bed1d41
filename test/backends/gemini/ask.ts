/** One task of the backend against a Gemini of the test's own. */
import type { Target } from "../../../src/backends/backend.ts";
import { gemini } from "../../../src/backends/gemini/index.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import type { ChatChunk, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { callOf, type Responder, type TestCall } from "../upstream.ts";

export const GOOGLE = "https://generativelanguage.googleapis.com";
export const KEY = "AIza-the-secret-of-the-target";

export const TARGET: Partial<Target> = { kind: "gemini", url: GOOGLE, model: "gemini-2.5-flash", key: KEY };

export interface Asking<Name extends TaskName> {
	call: TestCall;
	answer: Promise<Answer<Name>>;
}

export function ask<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	respond: Responder,
	target: Partial<Target> = {},
): Asking<Name> {
	const call = callOf(respond, { target: { ...TARGET, ...target } });
	const handler = gemini(call.target, call.services)[task];
	if (!handler) throw new Error(`no ${task}`);
	return { call, answer: handler(input, call) };
}

export async function outputOf<Name extends TaskName>({ answer }: Asking<Name>): Promise<TaskOutput<Name>> {
	const answered = await answer;
	if (answered.kind !== "value") throw new Error("a stream");
	return answered.output;
}

export const HELLO: ChatInput = { messages: [{ role: "user", content: "What is my name?" }], stream: false };

/** The chunks of a stream that ended well. */
export function chunksIn(text: string): ChatChunk[] {
	const events = text.split("\n\n");
	if (events.pop() !== "" || events.pop() !== "data: [DONE]") throw new Error("no [DONE] at the end");
	return events.map((event) => JSON.parse(event.slice("data: ".length)));
}
