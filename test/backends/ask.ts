/** Calls one task of a backend against an upstream of the test's own, and reads the answer. */
import type { Backend, Target } from "../../src/backends/backend.ts";
import type { Model } from "../../src/models/model.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../src/tasks/task.ts";
import type { ChatChunk } from "../../src/tasks/text-generation/types.ts";
import { callOf, type Responder, type TestCall } from "./upstream.ts";

export interface Asking<Name extends TaskName> {
	call: TestCall;
	answer: Promise<Answer<Name>>;
}

export interface AskOptions {
	target?: Partial<Target>;
	model?: Partial<Model>;
}

/** Returns the function that calls a task of the backend. `defaults`: fields of every target. */
export const askOf =
	(backend: Backend, defaults: Partial<Target> = {}) =>
	<Name extends TaskName>(
		task: Name,
		input: TaskInput<Name>,
		respond: Responder,
		{ target, model }: AskOptions = {},
	): Asking<Name> => {
		const call = callOf(respond, { target: { ...defaults, ...target }, ...(model && { model }) });
		const handler = backend(call.target, call.services)[task];
		if (!handler) throw new Error(`no ${task}`);
		return { call, answer: handler(input, call) };
	};

export async function outputOf<Name extends TaskName>({
	answer,
}: Pick<Asking<Name>, "answer">): Promise<TaskOutput<Name>> {
	const answered = await answer;
	if (answered.kind !== "value") throw new Error("a stream");
	return answered.output;
}

export async function eventsOf({
	answer,
}: Pick<Asking<"text-generation">, "answer">): Promise<ReadableStream<Uint8Array>> {
	const answered = await answer;
	if (answered.kind !== "stream") throw new Error("a value");
	return answered.events;
}

/** The events of a stream, read; and how it ended. */
export async function chunksOf(
	asking: Pick<Asking<"text-generation">, "answer">,
): Promise<{ text: string; chunks: ChatChunk[]; done: boolean; error?: unknown }> {
	let text = "";
	let error: unknown;
	const stream = await eventsOf(asking);
	try {
		const decoder = new TextDecoder();
		for await (const piece of stream) text += decoder.decode(piece, { stream: true });
	} catch (thrown) {
		error = thrown;
	}
	const events = text.split("\n\n").filter(Boolean);
	const done = events.at(-1) === "data: [DONE]";
	const chunks = events
		.slice(0, done ? -1 : undefined)
		.map((event): ChatChunk => JSON.parse(event.replace("data: ", "")));
	return { text, chunks, done, ...(error !== undefined && { error }) };
}
