import { describe, expect, it } from "vitest";
import { isCompleteAnswer } from "../../../src/gateways/cache/completeness.ts";

const complete = (contentType: string, text: string) =>
	isCompleteAnswer(contentType, new TextEncoder().encode(text));
const stream = (...events: string[]) => complete("text/event-stream; charset=utf-8", events.join(""));
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;

const DELTA = data({ choices: [{ delta: { content: "an error occurred" } }] });
const DONE = "data: [DONE]\n\n";

describe("isCompleteAnswer", () => {
	it.each([
		["OpenAI's marker", [DELTA, DONE]],
		["a null error", [data({ response: "Hi", error: null }), DONE]],
		["Anthropic's last event", ['event: message_stop\ndata: {"type":"message_stop"}\n\n']],
		["the last event of Responses", [data({ type: "response.completed" })]],
		["an incomplete response", [data({ type: "response.incomplete" })]],
		["Gemini's reason", [data({ candidates: [{ finishReason: "STOP" }] })]],
		["line ends of two characters", ["data: [DONE]\r\n\r\n"]],
		["a comment after the end", [DELTA, DONE, ": ganglion backend=a\n\n"]],
	])("accepts a stream with %s", (_, events) => {
		expect(stream(...events)).toBe(true);
	});

	it.each([
		["no event", []],
		["no last event", [DELTA]],
		["a cut last event", [DELTA, "data: [DONE]\n"]],
		["a failure", [DELTA, data({ error: { message: "m", type: "t" } })]],
		["a failure before the marker", [data({ error: { message: "m" } }), DONE]],
		["a named failure", [DELTA, 'event: error\ndata: {"type":"error"}\n\n', DONE]],
		["a typed failure", [data({ type: "error", code: "x" }), DONE]],
		["a failed response", [data({ type: "response.failed" }), DONE]],
		["a Gemini event without a reason", [data({ candidates: [{ content: {} }] })]],
		["text after the last event", [DONE, "data: x"]],
	])("refuses a stream with %s", (_, events) => {
		expect(stream(...events)).toBe(false);
	});

	it("accepts JSON that is complete and not a failure", () => {
		expect(complete("application/json", '{"response":"Hi","error":null}')).toBe(true);
		expect(complete("application/json", '[{"candidates":[]}]')).toBe(true);
		expect(complete("application/json", '{"response":"H')).toBe(false);
		expect(complete("application/json", '{"error":{"code":1}}')).toBe(false);
		expect(complete("Application/JSON", '[{"candidates":[]},{"error":{}}]')).toBe(false);
	});

	it("accepts other content that is not empty", () => {
		expect(complete("image/png", "\u0089PNG")).toBe(true);
		expect(complete("image/png", "")).toBe(false);
	});
});
