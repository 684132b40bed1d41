import { SELF } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, type MockInstance, vi } from "vitest";

const post = (body: object) =>
	SELF.fetch("https://shop.example/chat", { method: "POST", body: JSON.stringify(body) });

const chat = async (content: string): Promise<string> =>
	(await post({ messages: [{ role: "user", content }] })).text();

/** The Worker logs each call of a tool, and runs in the isolate of its tests. */
let log: MockInstance<typeof console.log>;
const calls = (): unknown[] => log.mock.calls.map(([name, input]) => [name, JSON.parse(String(input))]);

beforeEach(() => {
	log = vi.spyOn(console, "log").mockReturnValue();
});
afterEach(() => {
	vi.restoreAllMocks();
});

it.each([
	["What is 12.5 times 48?", { operation: "multiply", a: 12.5, b: 48 }, "600"],
	["Subtract 173 from 4210.", { operation: "subtract", a: 4210, b: 173 }, "4037"],
])("calculates %j with the numbers of the text", async (question, input, result) => {
	expect(await chat(question)).toContain(result);
	expect(calls()).toEqual([["calculator", input]]);
});

it("looks up a price", async () => {
	expect(await chat("What is the price of the lamp?")).toContain("40 euros");
	expect(calls()).toEqual([["price", { product: "lamp" }]]);
});

it("calls both tools for a message that asks for both", async () => {
	const answer = await chat("What is the price of the desk, and what is 3 times 199?");
	expect(calls()).toEqual([
		["price", { product: "desk" }],
		["calculator", { operation: "multiply", a: 3, b: 199 }],
	]);
	expect(answer).toContain("199 euros");
	expect(answer).toContain("597");
});

it("streams", async () => {
	const response = await post({ messages: [{ role: "user", content: "What is 12.5 times 48?" }] });
	expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
	const pieces: string[] = [];
	for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) pieces.push(piece);
	expect(pieces.length).toBeGreaterThan(1);
});

it("says what is wrong with a request", async () => {
	const response = await post({ messages: [] });
	expect(response.status).toBe(400);
	expect(await response.text()).toContain("messages");
});
