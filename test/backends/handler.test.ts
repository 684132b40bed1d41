import { expect, it } from "vitest";
import { defineBackend, type Handler } from "../../src/backends/handler.ts";
import { callOf, json, TARGET } from "./upstream.ts";

const { services, ...context } = callOf(() => json({}));
const events = new ReadableStream<Uint8Array>();

it.each<[string, object, object]>([
	["an output", { vectors: [] }, { kind: "value", output: { vectors: [] } }],
	["an output with a field `events`", { events: [1] }, { kind: "value", output: { events: [1] } }],
	["a stream", { kind: "stream", events }, { kind: "stream", events }],
])("a handler that returns %s answers with %o", async (_, output, answer) => {
	const handler = (async () => output) as unknown as Handler<"text-generation">;
	const tasks = defineBackend({ "text-generation": handler })(TARGET, services);
	expect(await tasks["text-generation"]?.({ messages: [], stream: false }, context)).toEqual(answer);
	expect(Object.keys(tasks)).toEqual(["text-generation"]);
});

it("a handler gets the call that its kind prepares", async () => {
	const handler: Handler<"summarization"> = async ({ text }, { target }) => ({
		summary: `${target.url} ${text}`,
	});
	const prepare = (call: Parameters<typeof handler>[1]) => ({
		...call,
		target: { ...call.target, url: "prepared" },
	});
	const tasks = defineBackend({ summarization: handler }, prepare)(TARGET, services);
	const answer = await tasks.summarization?.({ text: "a", max_length: 9 }, context);
	expect(answer).toEqual({ kind: "value", output: { summary: "prepared a" } });
});
