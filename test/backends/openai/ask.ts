/** One task of the backend against an upstream of the test's own. */
import type { Target } from "../../../src/backends/backend.ts";
import { openai } from "../../../src/backends/openai/index.ts";
import type { Model } from "../../../src/models/model.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import { callOf, json, type Responder, type TestCall } from "../upstream.ts";

export interface Asking<Name extends TaskName> {
	call: TestCall;
	answer: Promise<Answer<Name>>;
}

interface Options {
	target?: Partial<Target>;
	model?: Partial<Model>;
}

export function ask<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	respond: Responder,
	options: Options = {},
): Asking<Name> {
	const call = callOf(respond, options);
	const handler = openai(call.target, call.services)[task];
	if (!handler) throw new Error(`no ${task}`);
	return { call, answer: handler(input, call) };
}

export async function outputOf<Name extends TaskName>(asking: Asking<Name>): Promise<TaskOutput<Name>> {
	const answer = await asking.answer;
	if (answer.kind !== "value") throw new Error("a stream");
	return answer.output;
}

export async function eventsOf(asking: Asking<"text-generation">): Promise<ReadableStream<Uint8Array>> {
	const answer = await asking.answer;
	if (answer.kind !== "stream") throw new Error("a value");
	return answer.events;
}

export const OPENAI = { target: { url: "https://api.openai.com/v1" } };

/** A chat completion that says `content`. */
export const says = (content: string | null, more: object = {}): Response =>
	json({
		id: "chatcmpl-1",
		object: "chat.completion",
		created: 1,
		model: "engine-model",
		choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
		usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
		...more,
	});

export const saysJson = (value: unknown): Response => says(JSON.stringify(value));
