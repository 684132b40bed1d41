import { describe, expect, it } from "vitest";
import { BufferHold, bufferedBytes } from "../../../src/core/process-counts.ts";
import { bufferedBody, checkedResponse } from "../../../src/gateways/scanning/buffered.ts";
import { requestTexts, responseTexts } from "../../../src/gateways/scanning/texts.ts";

const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const inputs = (json: unknown) => requestTexts({ contentType: "application/json", content: { json } });
const JPEG = "data:image/jpeg;base64,/9j/4AAQ";

describe("requestTexts", () => {
	it.each([
		["a prompt", { prompt: "Hi", max_tokens: 9 }, ["Hi"]],
		[
			"messages with parts and an image",
			{
				model: "m",
				messages: [
					{ role: "system", content: "Be brief" },
					{
						role: "user",
						content: [
							{ type: "text", text: "What is it?" },
							{ type: "image_url", image_url: { url: "https://a.example/b.png", detail: "low" } },
							{ type: "image_url", image_url: { url: JPEG } },
						],
					},
				],
			},
			["Be brief", "What is it?", "https://a.example/b.png"],
		],
		[
			"Gemini's contents",
			{
				systemInstruction: { parts: [{ text: "Be brief" }] },
				contents: [
					{ role: "user", parts: [{ text: "Hi" }, { inlineData: { mimeType: "image/png", data: "aGk=" } }] },
				],
			},
			["Be brief", "Hi"],
		],
		["a list of texts", { text: ["a", "b", ""] }, ["a", "b"]],
		["a query with contexts", { query: "q", contexts: [{ text: "c" }] }, ["q", "c"]],
		["a text that begins like media", { prompt: JPEG }, [JPEG]],
		[
			"arguments of a tool",
			{ tool_calls: [{ id: "1", function: { name: "f", arguments: '{"a":1}' } }] },
			["f", '{"a":1}'],
		],
		["numbers of an image", { image: [1, 2, 3], prompt: "a" }, ["a"]],
		["no object", null, []],
	])("finds %s", async (_, json, texts) => {
		expect(await inputs(json)).toEqual(texts);
	});

	const body = (contentType: string, text: string) =>
		requestTexts({ contentType, content: { bytes: bytes(text) } });

	it("reads bodies of text, and no media", async () => {
		expect(await body("text/plain", "Hi")).toEqual(["Hi"]);
		expect(await body("application/json", '{"prompt":"Hi"}')).toEqual(["Hi"]);
		expect(await body("audio/wav", "RIFF")).toEqual([]);
		const audio = { contentType: "audio/wav", content: { bytes: bytes("RIFF") } };
		expect(await requestTexts({ ...audio, parameters: { query: { prompt: "Hi" } } })).toEqual(["Hi"]);
	});

	it.each(["application/octet-stream", "application/vnd.api+json", "text/plain", "x", ""])(
		"reads text of the type %j, as a provider may",
		async (contentType) => {
			expect(await body(contentType, '{"prompt":"\\u0048i"}')).toEqual(["Hi"]);
			expect(await body(contentType, '{"prompt":"Hi"}\n{"prompt":"Ho"}\n')).toEqual(["Hi", "Ho"]);
			expect(await body(contentType, "")).toEqual([]);
		},
	);

	it("reads no other bytes", async () => {
		const content = { bytes: new Uint8Array([0xff, 0xd8, 0x41]) };
		expect(await requestTexts({ contentType: "application/octet-stream", content })).toEqual([]);
	});

	it("reads the fields and the text files of a form, and no media", async () => {
		const form = new FormData();
		form.set("prompt", "A cat");
		form.set("image", new File(["PNG"], "a.png", { type: "image/png" }));
		form.set("file", new File(['{"input":"Hi"}\n'], "batch.jsonl", { type: "application/jsonl" }));
		const sent = new Response(form);
		const contentType = sent.headers.get("content-type") ?? "";
		expect(
			await requestTexts({ contentType, content: { bytes: new Uint8Array(await sent.arrayBuffer()) } }),
		).toEqual(["A cat", "Hi"]);
		expect(await body("application/x-www-form-urlencoded", "prompt=A+cat&n=1")).toEqual(["A cat", "1"]);
		expect(await body("multipart/form-data; boundary=x", "prompt: A cat")).toEqual(["prompt: A cat"]);
	});
});

describe("responseTexts", () => {
	const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
	const stream = (...events: unknown[]) =>
		responseTexts("text/event-stream; charset=utf-8", bytes(`${events.map(data).join("")}data: [DONE]\n\n`));

	it("joins the texts of a stream by their place", () => {
		const delta = (index: number, content: string) => ({
			id: "chatcmpl-1",
			object: "chat.completion.chunk",
			choices: [...Array(index).fill({}), { index, delta: { role: "assistant", content } }],
		});
		expect(stream(delta(0, "Hel"), delta(1, "Bon"), delta(0, "lo"), delta(1, "jour"))).toEqual([
			"Hello",
			"Bonjour",
		]);
		expect(stream({ response: "Hel", p: "abc" }, { response: "lo", p: "abcdef" })).toEqual(["Hello"]);
		expect(
			stream(
				{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
				{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } },
				{ type: "message_stop" },
			),
		).toEqual(["Hello"]);
	});

	it("reads JSON, text, and no media", () => {
		expect(responseTexts("application/json", bytes('{"result":{"response":"Hi"}}'))).toEqual(["Hi"]);
		expect(responseTexts("application/json", bytes("not json"))).toEqual(["not json"]);
		expect(responseTexts("text/plain", bytes("Hi"))).toEqual(["Hi"]);
		expect(responseTexts("image/png", bytes("PNG"))).toEqual([]);
		expect(responseTexts("application/json", bytes('{"data":[[0.1,0.2]]}'))).toEqual([]);
		expect(responseTexts("", bytes('{"response":"Hi"}'))).toEqual(["Hi"]);
		expect(responseTexts("text/event-stream", bytes("data: Hel\n\ndata: lo\n\ndata: [DONE]\n\n"))).toEqual([
			"Hello",
		]);
	});
});

describe("bufferedBody", () => {
	it("reads a body up to the limit", async () => {
		const hold = new BufferHold("acme");
		expect(await bufferedBody(new Response("Hello"), { hold, maxBytes: 5 })).toEqual(bytes("Hello"));
		expect(await bufferedBody(new Response("Hello"), { hold, maxBytes: 4 })).toBeUndefined();
		expect(await bufferedBody(new Response(null), { hold })).toEqual(new Uint8Array());
		expect(bufferedBytes.report().used).toBe(5);
		hold.release();
		expect(bufferedBytes.report().used).toBe(0);
	});

	it("refuses what the process cannot buffer with 429", async () => {
		const { limit } = bufferedBytes.report();
		const others = new BufferHold("others");
		others.grow(limit / 2);
		const hold = new BufferHold("acme");
		hold.grow(limit / 4);
		await expect(bufferedBody(new Response("Hello"), { hold })).rejects.toMatchObject({
			code: 3040,
			status: 429,
			retryAfter: 2,
			description:
				"Capacity temporarily exceeded, please try again: the gateway's bytes of buffered requests and answers are in use",
		});
		hold.release();
		others.release();
	});
});

describe("checkedResponse", () => {
	it("counts the bytes until they are sent", async () => {
		const checked: Uint8Array[] = [];
		const sent = await checkedResponse(new Response("Hello", { headers: { a: "b" } }), "acme", (all) => {
			checked.push(all);
		});
		expect(checked).toEqual([bytes("Hello")]);
		expect(bufferedBytes.report().used).toBe(5);
		expect(sent?.headers.get("a")).toBe("b");
		expect(await sent?.text()).toBe("Hello");
		expect(bufferedBytes.report().used).toBe(0);
	});

	it("releases the bytes of an answer that is refused, or that its caller leaves", async () => {
		const refused = checkedResponse(new Response("Hello"), "acme", () => {
			throw new Error("refused");
		});
		await expect(refused).rejects.toThrow("refused");
		const left = await checkedResponse(new Response("Hello"), "acme", () => {});
		await left?.body?.cancel();
		expect(bufferedBytes.report().used).toBe(0);
	});
});
