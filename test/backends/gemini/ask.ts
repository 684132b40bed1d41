/** One task of the backend against a Gemini of the test's own. */
import type { Target } from "../../../src/backends/backend.ts";
import { gemini } from "../../../src/backends/gemini/index.ts";
import type { ChatChunk, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { askOf } from "../ask.ts";

export const GOOGLE = "https://generativelanguage.googleapis.com";
export const KEY = "AIza-the-secret-of-the-target";

export const TARGET: Partial<Target> = { kind: "gemini", url: GOOGLE, model: "gemini-2.5-flash", key: KEY };

export const ask = askOf(gemini, TARGET);

export const HELLO: ChatInput = { messages: [{ role: "user", content: "What is my name?" }], stream: false };

/** The chunks of a stream that ended well. */
export function chunksIn(text: string): ChatChunk[] {
	const events = text.split("\n\n");
	if (events.pop() !== "" || events.pop() !== "data: [DONE]") throw new Error("no [DONE] at the end");
	return events.map((event) => JSON.parse(event.slice("data: ".length)));
}
