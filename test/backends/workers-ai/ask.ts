/** One task of the backend against a service of the test's own. */
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import type { ChatChunk } from "../../../src/tasks/text-generation/types.ts";
import { callOf, type Responder, type TestCall } from "../upstream.ts";
import { modelOf } from "./models.ts";

export const URL = "https://api.cloudflare.com/client/v4/accounts/abc/ai";

export function ask<Name extends TaskName>(
	task: Name,
	model: string,
	input: TaskInput<Name>,
	respond: Responder,
	upstreamModel = model,
): { call: TestCall; answer: Promise<Answer<Name>> } {
	const target = { url: URL, kind: "workers-ai" as const, model: upstreamModel };
	const call = callOf(respond, { target, model: modelOf(model) });
	const handler = workersAi(call.target, call.services)[task];
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
}): Promise<{ text: string; chunks: ChatChunk[]; done: boolean; error?: unknown }> {
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
	return { text, chunks, done, ...(error !== undefined && { error }) };
}
