import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { Rendered } from "../../../src/dialects/dialect.ts";
import {
	moondreamReader as reader,
	moondreamWriter as writer,
} from "../../../src/dialects/media/moondream.ts";
import type { ChatCompletion } from "../../../src/tasks/text-generation/types.ts";
import { productModel, type Read, read, refusal, streamAnswer, write } from "../read-write.ts";
import { base64, png } from "../samples.ts";

const model = productModel("@cf/moondream/moondream3.1-9B-A2B");
const uri = `data:image/png;base64,${base64(png(8, 4))}`;
const url = "https://example.com/fox.jpg";
const usage = { prompt_tokens: 730, completion_tokens: 3, total_tokens: 733 };
const metrics = { input_tokens: 730, output_tokens: 3, prefill_time_ms: 0, decode_time_ms: 0, ttft_ms: 0 };

describe("reader", () => {
	it("reads a question about an image, and streams by default", () => {
		expect(read(reader, model, { image: uri, question: "How many?" }).call).toEqual({
			task: "text-generation",
			input: {
				messages: [
					{
						role: "user",
						content: [
							{ type: "image_url", image_url: { url: uri } },
							{ type: "text", text: "How many?" },
						],
					},
				],
				stream: true,
				temperature: 0.5,
				top_p: 0.9,
				max_tokens: 768,
			},
		});
		expect(
			read(reader, model, { stream: false, reasoning: false, max_tokens: 9, temperature: 0 }).call.input,
		).toEqual({
			messages: [{ role: "user", content: [{ type: "text", text: "What's in this image?" }] }],
			stream: false,
			temperature: 0,
			top_p: 0.9,
			max_tokens: 9,
			reasoning_effort: null,
		});
	});

	it("reads captions of three lengths, also for a URL", () => {
		const texts = ["short", "normal", "long"].map((caption_length) => {
			const { call } = read(reader, model, { task: "caption", image: url, caption_length });
			if (call.task !== "text-generation") throw new Error(call.task);
			const [content] = call.input.messages.map(({ content }) => content);
			if (!Array.isArray(content)) throw new Error("no parts");
			expect(content[0]).toEqual({ type: "image_url", image_url: { url } });
			return content[1]?.text;
		});
		expect(new Set(texts).size).toBe(3);
	});

	it("reads detections in an embedded image", () => {
		for (const task of ["point", "detect"])
			expect(read(reader, model, { task, image: uri, max_objects: 3 }).call).toEqual({
				task: "object-detection",
				input: { image: { bytes: png(8, 4), contentType: "image/png" }, target: "person", max_objects: 3 },
			});
		expect(() => read(reader, model, { task: "detect", image: url })).toThrow(
			"8001: Invalid input: for 'detect', 'image' must be a data URI",
		);
	});

	it("refuses invalid inputs", () => {
		for (const task of ["caption", "point", "detect"])
			expect(refusal(reader, model, { task })).toBe("Error: required properties at '/' are 'image'");
		for (const image of ["http://example.com/fox.jpg", base64(png(8, 4))])
			for (const task of ["query", "detect"])
				expect(refusal(reader, model, { task, image })).toBe(
					"Error: '/image' must be an https URL or a data URI",
				);
		expect(() => read(reader, model, { image: "data:image/png;base64,AAAA" })).toThrow("3030");
		expect(() => read(reader, model, { image: "data:image/png;base64,@" })).toThrow("5004");
		expect(refusal(reader, model, { task: "segment", image: uri })).toBe(
			"Error: enum value not in query,caption,point,detect at '/task'",
		);
		expect(refusal(reader, model, { max_tokens: 2049, temperature: 3 })).toBe(
			"Error: '/temperature' must be <= 2, '/max_tokens' must be <= 2048",
		);
	});
});

const completion = (message: object, fields: object = {}): ChatCompletion => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: 1,
	model: "moondream",
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "stop" }],
	usage,
	...fields,
});

describe("writer", () => {
	const request = (inputs: object): Read => read(reader, model, { image: uri, stream: false, ...inputs });

	it("writes answers and captions", () => {
		expect(write(writer, request({}), "text-generation", completion({ content: "Two foxes." }))).toEqual({
			kind: "json",
			value: { finish_reason: "stop", metrics, answer: "Two foxes." },
		});
		const thought = completion({ content: "Two foxes.", reasoning_content: "I count." });
		expect(write(writer, request({ task: "caption" }), "text-generation", thought)).toEqual({
			kind: "json",
			value: {
				finish_reason: "stop",
				metrics,
				caption: "Two foxes.",
				reasoning: { text: "I count.", grounding: [] },
			},
		});
	});

	it("writes the engine's timings", () => {
		const timed = completion(
			{ content: "Hi" },
			{ timings: { prompt_ms: 12.5, predicted_ms: 30, prompt_n: 4 } },
		);
		expect(write(writer, request({}), "text-generation", timed)).toMatchObject({
			value: { metrics: { prefill_time_ms: 12.5, decode_time_ms: 30, ttft_ms: 12.5 } },
		});
	});

	it("writes coordinates as fractions of the image", () => {
		const found = {
			width: 200,
			height: 100,
			objects: [
				{ label: "fox", score: 0.9, box: { xmin: 50, ymin: 25, xmax: 150, ymax: 75 } },
				{ label: "fox", score: 0.8, box: { xmin: -2, ymin: 0, xmax: 201, ymax: 100 } },
			],
		};
		const none = { input_tokens: 0, output_tokens: 0, prefill_time_ms: 0, decode_time_ms: 0, ttft_ms: 0 };
		expect(write(writer, request({ task: "detect" }), "object-detection", found)).toEqual({
			kind: "json",
			value: {
				finish_reason: "stop",
				metrics: none,
				objects: [
					{ x_min: 0.25, y_min: 0.25, x_max: 0.75, y_max: 0.75 },
					{ x_min: 0, y_min: 0, x_max: 1, y_max: 1 },
				],
			},
		});
		expect(write(writer, request({ task: "point", max_objects: 1 }), "object-detection", found)).toEqual({
			kind: "json",
			value: { finish_reason: "stop", metrics: none, points: [{ x: 0.5, y: 0.5 }] },
		});
	});
});

describe("streams", () => {
	const chunk = (delta: object, fields: object = {}): string =>
		`data: ${JSON.stringify({
			id: "c",
			object: "chat.completion.chunk",
			created: 1,
			model: "m",
			choices: [{ index: 0, delta, finish_reason: null }],
			...fields,
		})}\n\n`;
	const frames = (...values: object[]): string =>
		values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
	const events =
		chunk({ role: "assistant", content: "" }) +
		chunk({ reasoning_content: "I count." }) +
		chunk({ content: "Two " }) +
		chunk({ content: "foxes." }) +
		chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: "length" }] }) +
		chunk({}, { choices: [], usage }) +
		"data: [DONE]\n\n";
	const DONE = "data: [DONE]\n\n";
	const written = [
		frames(
			{ reasoning: { text: "I count." } },
			{ answer: "Two " },
			{ answer: "foxes." },
			{ answer: "", finish_reason: "length", metrics },
		),
		DONE,
	].join("");

	const request = (inputs: object = {}): Read => read(reader, model, { image: uri, ...inputs });
	const stream = (parsed: Read, source: ReadableStream<Uint8Array>): Rendered =>
		writer.write(
			{ task: "text-generation", answer: streamAnswer(source) },
			{ ...parsed, now: 0, requestId: "r", uuid: () => "u", withCost: (usage) => usage },
		);
	const textOf = (rendered: Rendered): Promise<string> => {
		if (rendered.kind !== "events") throw new Error(rendered.kind);
		return new Response(rendered.events).text();
	};
	const source = (...chunks: (Uint8Array | Error)[]): ReadableStream<Uint8Array> =>
		new ReadableStream({
			pull(controller) {
				const next = chunks.shift();
				if (next === undefined) controller.close();
				else if (next instanceof Error) controller.error(next);
				else controller.enqueue(next);
			},
		});
	const bytes = new TextEncoder().encode(events);

	it("have the parts of the answer, then its end, for any split of the bytes", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
				const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
				const pieces = edges.slice(1).map((end, at) => bytes.subarray(edges[at], end));
				expect(await textOf(stream(request(), source(...pieces.filter(({ length }) => length > 0))))).toBe(
					written,
				);
			}),
			{ numRuns: 50 },
		);
	});

	it("have captions in their own field", async () => {
		const text = await textOf(stream(request({ task: "caption" }), source(bytes)));
		expect(text).toBe(written.replaceAll('"answer"', '"caption"'));
	});

	it("are written for a complete reply", async () => {
		const rendered = write(writer, request(), "text-generation", completion({ content: "Two foxes." }));
		expect(await textOf(rendered)).toBe(
			`${frames({ answer: "Two foxes." }, { answer: "", finish_reason: "stop", metrics })}data: [DONE]\n\n`,
		);
	});

	it("end with one error event, without [DONE], if the engine fails or its stream ends early", async () => {
		const start = new TextEncoder().encode(chunk({ content: "Two " }));
		for (const endings of [[new AiError("modelTimeout")], []]) {
			const text = await textOf(stream(request(), source(start, ...endings)));
			const [first, error, ...others] = text.trimEnd().split("\n\n");
			expect(first).toBe('data: {"answer":"Two "}');
			expect(JSON.parse(error?.slice("data: ".length) ?? "")).toMatchObject({
				error: { code: endings.length > 0 ? 3046 : 5001 },
			});
			expect(others).toEqual([]);
		}
	});

	it("cancel the engine's stream when the caller disconnects", async () => {
		let cancelled: unknown;
		const endless = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.enqueue(new TextEncoder().encode(chunk({ content: "a" }))),
			cancel(reason) {
				cancelled = reason;
			},
		});
		const rendered = stream(request(), endless);
		if (rendered.kind !== "events") throw new Error(rendered.kind);
		const caller = rendered.events.getReader();
		await caller.read();
		await caller.cancel("gone");
		expect(cancelled).toBe("gone");
	});
});
