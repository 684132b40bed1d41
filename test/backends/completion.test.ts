import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ChunkWriter, completionOf, headingOf, requestChat } from "../../src/backends/completion.ts";
import { callOf, drain, eventStream, json } from "./upstream.ts";

const HEADING = { id: "c-1", created: 7, model: "m" };
const chunk = (delta: object, finish_reason: string | null = null) => ({
	...HEADING,
	object: "chat.completion.chunk",
	choices: [{ index: 0, delta, finish_reason }],
});
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

describe("headingOf", () => {
	const call = callOf(() => json({}));
	call.services.now = () => 1_700_000_000_999;

	it("has the gateway's own fields, in seconds", () => {
		expect(headingOf(call)).toEqual({
			id: "chatcmpl-uuid-1",
			created: 1_700_000_000,
			model: "engine-model",
		});
	});

	it("prefers the upstream's, unless they are empty", () => {
		expect(headingOf(call, HEADING)).toEqual(HEADING);
		expect(headingOf(call, { id: "", created: 0, model: null })).toEqual({
			id: "chatcmpl-uuid-2",
			created: 1_700_000_000,
			model: "engine-model",
		});
	});
});

describe("requestChat", () => {
	const input = { messages: [], stream: true };
	const answered = completionOf(HEADING, { message: { content: "a" }, finish_reason: "stop" }, undefined);
	const request = (format?: "ndjson") => ({
		path: "/chat",
		body: {},
		schema: z.object({ text: z.string() }),
		completion: ({ text }: { text: string }) => ({ ...answered, id: text }),
		translator: () => ({
			done: true,
			translate: () => [new ChunkWriter(HEADING).chunk({ content: "a" })],
			end: () => [],
		}),
		...(format && { format }),
	});

	it.each([
		[undefined, "text/event-stream, application/json"],
		["ndjson" as const, "application/x-ndjson, application/json"],
	])("accepts a complete reply instead of a stream of %s", async (format, accept) => {
		const call = callOf(() => json({ text: "b" }));
		expect(await requestChat(call, input, request(format))).toEqual({ ...answered, id: "b" });
		expect(call.requests[0]?.headers.get("accept")).toBe(accept);
	});

	it("returns a stream", async () => {
		const call = callOf(() => eventStream("data: {}\n\n"));
		const reply = await requestChat(call, input, request());
		if (!("events" in reply)) throw new Error("no stream");
		expect((await drain(reply.events)).text).toContain('"content":"a"');
	});

	it("requests a complete reply if no stream is requested", async () => {
		const call = callOf(() => json({ text: "b" }));
		expect(await requestChat(call, { ...input, stream: false }, request())).toEqual({ ...answered, id: "b" });
		expect(call.requests[0]?.headers.get("accept")).toBe("application/json");
	});
});

it("a completion has one choice", () => {
	const answered = { message: { content: "a" }, finish_reason: "stop" };
	const expected = {
		...HEADING,
		object: "chat.completion",
		choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
	};
	expect(completionOf(HEADING, answered, undefined)).toStrictEqual(expected);
	expect(completionOf(HEADING, answered, USAGE)).toStrictEqual({ ...expected, usage: USAGE });
});

describe("ChunkWriter", () => {
	it("writes the role once, and an end", () => {
		const writer = new ChunkWriter(HEADING);
		expect(writer.hasBegun).toBe(false);
		expect(writer.begin()).toStrictEqual([chunk({ role: "assistant", content: "" })]);
		expect(writer.begin()).toEqual([]);
		expect(writer.chunk({ content: "a" })).toStrictEqual(chunk({ content: "a" }));
		expect(writer.end("length", undefined)).toStrictEqual([chunk({}, "length")]);
	});

	it("writes the role of an answer without output, and its usage", () => {
		const writer = new ChunkWriter(HEADING, { logprobs: null });
		const choice = { index: 0, delta: {}, logprobs: null, finish_reason: "stop" };
		expect(writer.end("stop", USAGE)).toStrictEqual([
			{
				...chunk({}),
				choices: [{ ...choice, delta: { role: "assistant", content: "" }, finish_reason: null }],
			},
			{ ...chunk({}), choices: [choice] },
			{ ...chunk({}), choices: [], usage: USAGE },
		]);
	});
});
