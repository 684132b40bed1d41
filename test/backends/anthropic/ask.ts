/** One chat of the backend against an upstream of the test's own. */
import { anthropic } from "../../../src/backends/anthropic/index.ts";
import type { Target } from "../../../src/backends/backend.ts";
import type { Model } from "../../../src/models/model.ts";
import type { Answer } from "../../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import messageJson from "../../fixtures/anthropic/message.json?raw";
import { callOf, json, type Responder, type TestCall } from "../upstream.ts";

export const CLAUDE: Partial<Target> = {
	kind: "anthropic",
	url: "https://api.anthropic.test",
	model: "claude-sonnet-4-5-20250929",
	headers: {},
};
export const named = (model: string): Partial<Target> => ({ model });

export interface Asking {
	call: TestCall;
	answer: Promise<Answer<"text-generation">>;
}

export function ask(
	input: Partial<ChatInput>,
	respond: Responder = () => json(messageJson),
	target: Partial<Target> = {},
	model: Partial<Model> = {},
): Asking {
	const call = callOf(respond, { target: { ...CLAUDE, ...target }, model });
	const handler = anthropic(call.target, call.services)["text-generation"];
	if (!handler) throw new Error("no chat");
	const whole = { messages: [{ role: "user" as const, content: "hi" }], stream: false, ...input };
	return { call, answer: handler(whole, call) };
}

/** What the upstream was asked. */
export async function bodyOf(
	input: Partial<ChatInput>,
	target?: Partial<Target>,
	model?: Partial<Model>,
): Promise<Record<string, unknown>> {
	const { call, answer } = ask(input, undefined, target, model);
	await answer;
	return call.requests[0]?.json ?? {};
}

export async function outputOf({ answer }: Asking): Promise<ChatCompletion> {
	const given = await answer;
	if (given.kind !== "value") throw new Error("a stream");
	return given.output;
}

export async function eventsOf({ answer }: Asking): Promise<ReadableStream<Uint8Array>> {
	const given = await answer;
	if (given.kind !== "stream") throw new Error("a value");
	return given.events;
}
