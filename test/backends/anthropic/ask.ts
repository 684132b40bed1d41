/** One chat of the backend against an upstream of the test's own. */
import { anthropic } from "../../../src/backends/anthropic/index.ts";
import type { Target } from "../../../src/backends/backend.ts";
import type { Model } from "../../../src/models/model.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import messageJson from "../../fixtures/anthropic/message.json?raw";
import { type Asking, askOf } from "../ask.ts";
import { json, type Responder } from "../upstream.ts";

export const CLAUDE: Partial<Target> = {
	kind: "anthropic",
	url: "https://api.anthropic.test",
	model: "claude-sonnet-4-5-20250929",
	headers: {},
};
export const named = (model: string): Partial<Target> => ({ model });

const askAnthropic = askOf(anthropic, CLAUDE);

export function ask(
	input: Partial<ChatInput>,
	respond: Responder = () => json(messageJson),
	target: Partial<Target> = {},
	model: Partial<Model> = {},
): Asking<"text-generation"> {
	const complete = { messages: [{ role: "user" as const, content: "hi" }], stream: false, ...input };
	return askAnthropic("text-generation", complete, respond, { target, model });
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
