import { describe, expect, it } from "vitest";
import { sentAgain } from "../../../src/gateways/comparisons/sent-request.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
const again = (path: string, fields: object) => sentAgain(path, JSON.stringify(fields));
const tool = { type: "function", function: { name: "f", parameters: {} } };

describe("the request of a log, for another model", () => {
	it("keeps its format, without what delivers and stores the answer", () => {
		const delivery = { model: "old", stream: true, stream_options: {}, store: true, metadata: { a: "b" } };
		expect(
			again("v1/chat/completions", { ...delivery, messages: MESSAGES, temperature: 0, tools: [tool] }),
		).toEqual({
			ok: true,
			endpoint: "/chat/completions",
			fields: { messages: MESSAGES, temperature: 0, tools: [tool] },
			question: MESSAGES,
		});
		expect(again("v1/messages", { ...delivery, system: "Be short", messages: MESSAGES })).toMatchObject({
			endpoint: "/messages",
			fields: { system: "Be short", messages: MESSAGES },
			question: ["Be short", ...MESSAGES],
		});
		expect(again("responses", { ...delivery, input: "Hello" })).toMatchObject({
			endpoint: "/responses",
			fields: { input: "Hello", store: false },
		});
		expect(again("v1/completions", { ...delivery, prompt: "Hello" })).toMatchObject({
			endpoint: "/completions",
		});
		const contents = [{ parts: [{ text: "Hello" }] }];
		for (const method of ["generateContent", "streamGenerateContent"])
			expect(again(`v1beta/models/gemini-3:${method}?alt=sse`, { contents })).toMatchObject({
				endpoint: "gemini",
				fields: { contents },
				question: contents,
			});
	});

	it("turns the inputs of a run into a chat", () => {
		const schema = { type: "object" };
		expect(
			again("run/@cf/meta/llama", {
				...{ prompt: "Hello", max_tokens: 5, raw: true, lora: "x", stream: true },
				tools: [{ name: "f", parameters: {} }],
				response_format: { type: "json_schema", json_schema: schema },
			}),
		).toMatchObject({
			endpoint: "/chat/completions",
			fields: {
				messages: MESSAGES,
				max_tokens: 5,
				tools: [tool],
				response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
			},
		});
		expect(again("@cf/meta/llama", { messages: MESSAGES })).toMatchObject({ fields: { messages: MESSAGES } });
	});

	it.each([
		["web search", { web_search_options: {} }],
		["a hosted tool", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
		["one among functions", { tools: [tool, { type: "mcp", server_url: "https://example.com" }] }],
		["servers of tools", { mcp_servers: [{ url: "https://example.com" }] }],
		["a container", { container: "c" }],
		["Gemini's search", { tools: [{ functionDeclarations: [] }, { google_search: {} }] }],
		["both in one", { tools: [{ functionDeclarations: [], code_execution: {} }] }],
	])("is refused with %s", (_, fields) => {
		for (const path of [
			"v1/chat/completions",
			"v1/messages",
			"v1beta/models/g:generateContent",
			"run/@cf/a/b",
		])
			expect(again(path, { messages: MESSAGES, contents: [], ...fields })).toEqual({
				ok: false,
				reason: "the request has a tool that an engine or a server runs",
			});
	});

	it("is refused if a stored response precedes it, or if it is none for a text", () => {
		expect(again("responses", { input: "Hello", previous_response_id: "resp_1" })).toMatchObject({
			ok: false,
		});
		expect(again("responses", { input: "Hello", conversation: "conv_1" })).toMatchObject({ ok: false });
		expect(again("v1/embeddings", { input: "Hello" })).toMatchObject({ ok: false });
		expect(again("run/@cf/baai/bge", { text: "Hello" })).toMatchObject({ ok: false });
		for (const text of ["", "[]", "{", "null"])
			expect(sentAgain("v1/chat/completions", text)).toMatchObject({ ok: false });
	});

	it("keeps functions of callers", () => {
		const functions = [tool, { type: "custom", name: "g" }, { name: "h", input_schema: {} }];
		expect(again("v1/messages", { messages: MESSAGES, tools: functions })).toMatchObject({ ok: true });
		const declared = [{ functionDeclarations: [{ name: "f" }] }];
		expect(again("v1/models/g:generateContent", { contents: [], tools: declared })).toMatchObject({
			ok: true,
		});
	});
});
