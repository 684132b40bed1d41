/** One task of the backend against an upstream of the test's own. */
import { openai } from "../../../src/backends/openai/index.ts";
import { askOf } from "../ask.ts";
import { json } from "../upstream.ts";

export const ask = askOf(openai);

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
