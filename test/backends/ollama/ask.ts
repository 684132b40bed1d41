/** One task of the backend against a server of the test's own. */
import { ollama } from "../../../src/backends/ollama/index.ts";
import type { Model } from "../../../src/models/model.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import type { ChatChunk } from "../../../src/tasks/text-generation/types.ts";
import { callOf, type Responder, type TestCall } from "../upstream.ts";

export const URL = "http://localhost:11434";

export function ask<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	respond: Responder,
	model: Partial<Model> = {},
): { call: TestCall; answer: Promise<Answer<Name>> } {
	const call = callOf(respond, { target: { url: URL, kind: "ollama", model: "llama3.2" }, model });
	const handler = ollama(call.target, call.services)[task];
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

/** The events of a stream, read; and how it ended. */
export async function chunksOf(asking: {
	answer: Promise<Answer<"text-generation">>;
}): Promise<{ chunks: ChatChunk[]; done: boolean; error?: unknown }> {
	const answer = await asking.answer;
	if (answer.kind !== "stream") throw new Error("a value");
	let text = "";
	let error: unknown;
	try {
		const decoder = new TextDecoder();
		for await (const piece of answer.events) text += decoder.decode(piece, { stream: true });
	} catch (thrown) {
		error = thrown;
	}
	const events = text.split("\n\n").filter(Boolean);
	const done = events.at(-1) === "data: [DONE]";
	const chunks = events
		.slice(0, done ? -1 : undefined)
		.map((event): ChatChunk => JSON.parse(event.replace("data: ", "")));
	return { chunks, done, ...(error !== undefined && { error }) };
}
