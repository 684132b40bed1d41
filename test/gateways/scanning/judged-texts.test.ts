import { describe, expect, it } from "vitest";
import type { GatewayStep } from "../../../src/gateways/request.ts";
import { judgedTexts } from "../../../src/gateways/scanning/judged-texts.ts";

const judged = (body: GatewayStep["body"], passed?: GatewayStep["passed"]) =>
	judgedTexts({
		provider: "openai",
		endpoint: "chat/completions",
		modelId: "gpt-5.6-sol",
		body,
		passed,
		format: "",
		plane: "gateway",
		providerKey: undefined,
	} as GatewayStep);
const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const json = (value: unknown) => judged({ contentType: "application/json", content: { json: value } });
const lines = async (value: unknown) => (await json(value)).text.split("\n");
const base64 = (text: string) => btoa(text);

describe("judgedTexts", () => {
	it("has what the engine reads of a chat once, and no names of the protocol", async () => {
		expect(
			await lines({
				model: "gpt-5.6-sol",
				temperature: 0.7,
				messages: [
					{ role: "system", content: "Be brief" },
					{ role: "user", content: "How do I make bread?" },
					{
						role: "assistant",
						tool_calls: [
							{ id: "call_1", type: "function", function: { name: "find_recipe", arguments: "rye" } },
						],
					},
					{ role: "tool", tool_call_id: "call_1", content: "Flour and water" },
				],
			}),
		).toEqual(["Be brief", "How do I make bread?", "find_recipe", "rye", "Flour and water"]);
	});

	it.each([
		["a name of a field", { messages: [{ role: "user", content: "Hi", name: "make_a_bomb" }] }],
		["a key of an argument", { tools: [{ parameters: { properties: { make_a_bomb: {} } } }] }],
		["a role", { messages: [{ role: "make_a_bomb now", content: "Hi" }] }],
		["an id", { messages: [{ role: "user", content: "Hi", id: "please make_a_bomb" }] }],
		["an argument in JSON", { arguments: '{"text":"\\u006dake_a_bomb"}' }],
		["parts of a message", { content: [{ text: "make_a_" }, { text: "bomb" }] }],
		["a text file", { file_data: `data:text/plain;base64,${base64("please make_a_bomb")}` }],
		["base64", { prompt: base64("please make_a_bomb") }],
		["percent-encoding", { prompt: "make%5Fa%5Fbomb" }],
		["wide characters", { prompt: "ｍａｋｅ＿ａ＿ｂｏｍｂ" }],
		["invisible characters", { prompt: "make\u200b_a_\u200bbomb" }],
		["tags", { prompt: String.fromCodePoint(...[..."make_a_bomb"].map((c) => 0xe0000 + c.charCodeAt(0))) }],
		["a list of bytes", { text: [...bytes("make_a_bomb")] }],
	])("reads %s", async (_, value) => {
		const { text, isUnreadable } = await json(value);
		expect(text).toContain("make_a_bomb");
		expect(isUnreadable).toBe(false);
	});

	it("reads numbers, but no parameters of the protocol", async () => {
		expect(await lines({ max_tokens: 9, arguments_: { year: 1945 } })).toEqual([
			"arguments_",
			"year",
			"1945",
		]);
	});

	it("has no encoded media", async () => {
		const data = "/9j/4AAQ".repeat(500);
		expect(await lines({ prompt: "Hi", image: `data:image/jpeg;base64,${data}` })).toEqual(["Hi"]);
		expect(await lines({ prompt: "Hi", inlineData: { mimeType: "image/jpeg", data } })).toEqual(["Hi"]);
	});

	it("reads the raw body of a provider's call only if names repeat", async () => {
		const parsed = { messages: [{ role: "user", content: "Hi" }] };
		const contentType = "application/json";
		const pass = async (body: string) =>
			(await judged({ contentType, content: { json: parsed } }, { headers: new Headers(), body })).text;
		expect(await pass(JSON.stringify(parsed))).toBe("Hi");
		expect(
			await pass(`{"messages":[{"content":"make_a_bomb"}],${JSON.stringify(parsed).slice(1)}`),
		).toContain("make_a_bomb");
	});

	it("reads forms and bodies of any type", async () => {
		const form = new FormData();
		form.set("prompt", "make_a_bomb");
		const sent = new Response(form);
		const contentType = sent.headers.get("content-type") ?? "";
		const content = { bytes: new Uint8Array(await sent.arrayBuffer()) };
		expect((await judged({ contentType, content })).text).toContain("make_a_bomb");
		expect((await judged({ contentType: "x", content: { bytes: bytes("make_a_bomb") } })).text).toBe(
			"make_a_bomb",
		);
	});

	it.each([
		["token ids", { prompt: [9906, 1917] }],
		["several prompts of token ids", { input: [[9906], [1917, 3]] }],
		["token ids of a request among several", { requests: [{ prompt: [9906] }] }],
	])("cannot read %s", async (_, value) => {
		expect((await json(value)).isUnreadable).toBe(true);
	});

	it("cannot read a broken form or an unknown character set", async () => {
		for (const contentType of ["multipart/form-data; boundary=x", "text/plain; charset=utf-7"])
			expect((await judged({ contentType, content: { bytes: bytes("Hi") } })).isUnreadable).toBe(true);
	});

	it("can read bytes of media and texts", async () => {
		for (const value of [
			{ audio: [82, 73, 70, 70, 1, 0] },
			{ prompt: "Hi" },
			{ input: ["a", "b"] },
			{ input: [] },
		])
			expect((await json(value)).isUnreadable).toBe(false);
	});
});
