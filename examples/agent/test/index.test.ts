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
	[{ operation: "multiply", a: 12.5, b: 48 }, "600"],
	[{ operation: "subtract", a: 4210, b: 173 }, "4037"],
])("calculates %j", async (input, result) => {
	expect(await chat(`Use the calculator tool with ${JSON.stringify(input)}`)).toContain(result);
	expect(calls()).toEqual([["calculator", input]]);
});

it("looks up a price", async () => {
	expect(await chat('Use the price tool with {"product":"lamp"}')).toContain("40 euros");
	expect(calls()).toEqual([["price", { product: "lamp" }]]);
});

it("calls one tool after the other for a message that asks for both", async () => {
	const answer = await chat(
		'Use the price tool with {"product":"desk"}, then use the calculator tool with {"operation":"multiply","a":3,"b":199}',
	);
	expect(calls()).toEqual([
		["price", { product: "desk" }],
		["calculator", { operation: "multiply", a: 3, b: 199 }],
	]);
	expect(answer).toContain("597");
});

it("streams", async () => {
	const response = await post({ messages: [{ role: "user", content: "Hello" }] });
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
