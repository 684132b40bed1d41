import { beforeEach, describe, expect, it, vi } from "vitest";
import { BufferHold, bufferedBytes } from "../../../src/core/process-counts.ts";
import { bufferedBody, checkedResponse } from "../../../src/gateways/scanning/buffered.ts";
import { responseTexts } from "../../../src/gateways/scanning/texts.ts";

const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));

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

/** Answers that other tests did not read stay buffered. */
let usedBefore = 0;
beforeEach(() => {
	usedBefore = bufferedBytes.report().used;
});
const used = (): number => bufferedBytes.report().used - usedBefore;

describe("bufferedBody", () => {
	it("reads a body up to the limit", async () => {
		const hold = new BufferHold("acme");
		expect(await bufferedBody(new Response("Hello"), { hold, maxBytes: 5 })).toEqual(bytes("Hello"));
		expect(await bufferedBody(new Response("Hello"), { hold, maxBytes: 4 })).toBeUndefined();
		expect(await bufferedBody(new Response(null), { hold })).toEqual(new Uint8Array());
		expect(used()).toBe(5);
		hold.release();
		expect(used()).toBe(0);
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
	const REQUEST = { account: "acme", signal: new AbortController().signal };

	it.each([
		{
			during: "its answer",
			// The first bytes, and no more.
			answer: () =>
				new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(bytes("Hello")) }),
			check: () => {},
		},
		{ during: "the check", answer: () => "Hello", check: () => new Promise<void>(() => {}) },
	])("releases the bytes when the caller leaves during $during, although no code continues", async (one) => {
		const caller = new AbortController();
		void checkedResponse(new Response(one.answer()), { account: "acme", signal: caller.signal }, one.check);
		await vi.waitFor(() => expect(used()).toBe(5));
		caller.abort();
		expect(used()).toBe(0);
	});

	it("counts the bytes until they are sent", async () => {
		const checked: Uint8Array[] = [];
		const sent = await checkedResponse(new Response("Hello", { headers: { a: "b" } }), REQUEST, (all) => {
			checked.push(all);
		});
		expect(checked).toEqual([bytes("Hello")]);
		expect(used()).toBe(5);
		expect(sent?.headers.get("a")).toBe("b");
		expect(await sent?.text()).toBe("Hello");
		expect(used()).toBe(0);
	});

	it("releases the bytes of an answer that is refused, or that its caller leaves", async () => {
		const refused = checkedResponse(new Response("Hello"), REQUEST, () => {
			throw new Error("refused");
		});
		await expect(refused).rejects.toThrow("refused");
		const left = await checkedResponse(new Response("Hello"), REQUEST, () => {});
		await left?.body?.cancel();
		expect(used()).toBe(0);
	});
});
