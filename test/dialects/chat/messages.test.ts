import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MessageRules, readMessages, type SentMessage } from "../../../src/dialects/chat/messages.ts";

const RULES: MessageRules = { contentOptional: false, embeddedImages: false };
const messages = (sent: SentMessage[], rules: Partial<MessageRules> = {}) =>
	readMessages(sent, { ...RULES, ...rules });

const called = (id: string, name: string, args: string) => ({
	id,
	type: "function",
	function: { name, arguments: args },
});

describe("an assistant's calls", () => {
	it("are read in both forms, with arguments as objects or text, and get ids", () => {
		const tool_calls = [
			{ name: "add", arguments: { a: 1 } },
			{ name: "add", arguments: '{"a":2}' },
			{ id: "mine", function: { name: "add", arguments: { a: 3 } } },
			{ id: "other", type: "function", function: { name: "add", arguments: '{"a": 4}' } },
			{ name: "now" },
			{ name: "now", arguments: "" },
		];
		expect(messages([{ role: "assistant", content: "", tool_calls }])).toStrictEqual([
			{
				role: "assistant",
				content: null,
				tool_calls: [
					called("call00000", "add", '{"a":1}'),
					called("call00001", "add", '{"a":2}'),
					called("mine", "add", '{"a":3}'),
					called("other", "add", '{"a": 4}'),
					called("call00002", "now", "{}"),
					called("call00003", "now", "{}"),
				],
			},
		]);
	});

	it("keep Gemini's signature", () => {
		const extra_content = { google: { thought_signature: "sig" } };
		const tool_calls = [
			{ ...called("a", "add", "{}"), extra_content: { ...extra_content, other: 1 } },
			{ ...called("b", "add", "{}"), extra_content: { google: {} } },
		];
		expect(messages([{ role: "assistant", content: null, tool_calls }])[0]?.tool_calls).toStrictEqual([
			{ ...called("a", "add", "{}"), extra_content },
			called("b", "add", "{}"),
		]);
	});

	it("are read in the legacy form", () => {
		expect(
			messages([
				{ role: "assistant", content: null, function_call: { name: "add", arguments: "{}" } },
				{ role: "function", name: "add", content: "3" },
			]),
		).toStrictEqual([
			{ role: "assistant", content: null, tool_calls: [called("call00000", "add", "{}")] },
			{ role: "tool", content: "3", tool_call_id: "call00000" },
		]);
	});

	it.each([
		[{ type: "custom", custom: { name: "x" } }],
		[{ name: "" }],
		[{ name: "x", arguments: 5 }],
		["x"],
	])("must be calls of functions: %#", (call) => {
		expect(() =>
			messages([
				{ role: "user", content: "a" },
				{ role: "assistant", tool_calls: [call] },
			]),
		).toThrowError(
			"8001: Invalid input: messages[1].tool_calls[0] must be a function call with a name and arguments",
		);
	});

	it("keep the text and the reasoning of the message", () => {
		const tool_calls = [called("a", "add", "{}")];
		expect(
			messages([{ role: "assistant", content: "Wait", reasoning: "Hm", name: "bob", tool_calls }]),
		).toStrictEqual([
			{ role: "assistant", content: "Wait", tool_calls, name: "bob", reasoning_content: "Hm" },
		]);
	});
});

describe("a call as the text of a message", () => {
	const call = { name: "weather", arguments: { city: "Lisbon" } };

	it("is read as a call directly before its result, as @cloudflare/ai-utils writes it", () => {
		expect(
			messages([
				{ role: "user", content: "Weather?" },
				{ role: "assistant", content: JSON.stringify(call) },
				{ role: "tool", name: "weather", content: "sunny" },
				{ role: "assistant", content: JSON.stringify({ ...call, arguments: { city: "Porto" } }) },
				{ role: "tool", name: "weather", content: "rain" },
			]),
		).toStrictEqual([
			{ role: "user", content: "Weather?" },
			{ role: "assistant", content: null, tool_calls: [called("call00000", "weather", '{"city":"Lisbon"}')] },
			{ role: "tool", content: "sunny", tool_call_id: "call00000" },
			{ role: "assistant", content: null, tool_calls: [called("call00001", "weather", '{"city":"Porto"}')] },
			{ role: "tool", content: "rain", tool_call_id: "call00001" },
		]);
	});

	it("is read as several calls from a list", () => {
		const assistant = messages([
			{ role: "assistant", content: JSON.stringify([call, { ...call, name: "news" }]) },
			{ role: "tool", name: "news", content: "none" },
			{ role: "tool", name: "weather", content: "sunny" },
		]);
		expect(assistant.map(({ tool_call_id }) => tool_call_id)).toEqual([undefined, "call00001", "call00000"]);
	});

	it("stays text elsewhere, as does text that is not a call", () => {
		const readBefore = (content: string, next: SentMessage): unknown =>
			messages([{ role: "assistant", content }, next])[0];
		const text = JSON.stringify(call);
		expect(readBefore(text, { role: "user", content: "?" })).toEqual({ role: "assistant", content: text });
		const result = { role: "tool", content: "1" };
		for (const content of ['{"name":"Bob"}', "{oops", "[]", "null", '["a"]', "Hello"])
			expect(readBefore(content, result)).toEqual({ role: "assistant", content });
	});
});

describe("a result", () => {
	const assistant = (ids: string[]): SentMessage => ({
		role: "assistant",
		tool_calls: ids.map((id, i) => called(id, `f${i}`, "{}")),
	});
	const resultIds = (...sent: SentMessage[]) =>
		messages(sent)
			.filter(({ role }) => role === "tool")
			.map(({ tool_call_id }) => tool_call_id);

	it("belongs to the call with its id, otherwise with its name, otherwise to the first pending call", () => {
		const result = (fields: object): SentMessage => ({ role: "tool", content: "", ...fields });
		expect(
			resultIds(
				assistant(["a", "b", "c"]),
				result({ tool_call_id: "b" }),
				result({ name: "f2" }),
				result({}),
			),
		).toEqual(["b", "c", "a"]);
	});

	it("ignores a placeholder id", () => {
		const filler: SentMessage = { role: "tool", content: "", tool_call_id: "000000001" };
		expect(resultIds(assistant(["a", "b"]), filler, filler)).toEqual(["a", "b"]);
	});

	it("may belong to a call of an earlier message", () => {
		const late: SentMessage = { role: "tool", content: "", tool_call_id: "a" };
		expect(resultIds(assistant(["a"]), assistant(["b"]), late)).toEqual(["a"]);
	});

	it("keeps its id, or gets one, if there is no call", () => {
		expect(
			resultIds({ role: "tool", content: "", tool_call_id: "x" }, { role: "tool", content: "" }),
		).toEqual(["x", "call00000"]);
	});

	it("never gets the id of another call", () => {
		const sent: SentMessage = {
			role: "assistant",
			tool_calls: [called("call00000", "f", "{}"), { name: "g", arguments: {} }],
		};
		const [message] = messages([sent]);
		expect(message?.tool_calls?.map(({ id }) => id)).toEqual(["call00000", "call00001"]);
	});

	it("always has the id of a call in the preceding message, for any ids of the caller", () => {
		const anyId = fc.option(fc.constantFrom("", "a", "000000001"), { nil: undefined });
		const round = fc.record({ calls: fc.integer({ min: 1, max: 3 }), results: fc.array(anyId) });
		fc.assert(
			fc.property(fc.array(round, { maxLength: 4 }), (rounds) => {
				let open: (string | undefined)[] = [];
				const sent = rounds.flatMap(({ calls, results }): SentMessage[] => [
					{ role: "assistant", tool_calls: Array(calls).fill({ name: "f", arguments: {} }) },
					...results
						.slice(0, calls)
						.map((tool_call_id): SentMessage => ({ role: "tool", content: "", tool_call_id })),
				]);
				for (const message of messages(sent)) {
					if (message.role === "assistant") open = message.tool_calls?.map(({ id }) => id) ?? [];
					else {
						expect(open).toContain(message.tool_call_id);
						open = open.filter((id) => id !== message.tool_call_id);
					}
				}
			}),
		);
	});
});

describe("content", () => {
	it("may be absent if the schema allows it, and in an assistant's message", () => {
		expect(messages([{ role: "assistant" }])).toEqual([{ role: "assistant", content: "" }]);
		expect(messages([{ role: "assistant", content: null, refusal: "No." }])).toEqual([
			{ role: "assistant", content: "No." },
		]);
		expect(messages([{}], { contentOptional: true })).toEqual([{ role: "user", content: "" }]);
		expect(() =>
			messages([
				{ role: "user", content: "a" },
				{ role: "user", content: null },
			]),
		).toThrowError("5006: Error: required properties at '/messages/1' are 'content'");
	});

	it("has parts of each type, or is one part", () => {
		const parts = [
			{ type: "text", text: "See" },
			{ type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } },
			{ type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
			{ type: "file", file: { file_id: "f" } },
		];
		expect(messages([{ role: "user", content: parts }])).toEqual([{ role: "user", content: parts }]);
		expect(messages([{ role: "user", content: { type: "text", text: "See" } }])).toEqual([
			{ role: "user", content: [{ type: "text", text: "See" }] },
		]);
		expect(
			messages([{ role: "user", content: [{ type: "image_url", image_url: "data:image/png;base64,AA" }] }]),
		).toEqual([
			{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] },
		]);
	});

	it.each(["http://a/b.png", "file:///etc/passwd", "ftp://a/b", "", " data:image/png;base64,AA", "https:a"])(
		"refuses the URL %j",
		(url) => {
			const refused = (image_url: unknown) => () =>
				messages([
					{ role: "user", content: "Hi" },
					{ role: "user", content: [{ type: "image_url", image_url }] } as SentMessage,
				]);
			expect(refused({ url })).toThrowError(
				"5006: Error: '/messages/1/content/0/image_url/url' must be an https URL or a data URI",
			);
			expect(refused(url)).toThrowError(
				"5006: Error: '/messages/1/content/0/image_url' must be an https URL or a data URI",
			);
		},
	);

	it.each([
		[{ type: "text" }, "5006: Error: required properties at '/messages/0/content/0' are 'text'"],
		[{ type: "image_url" }, "5006: Error: required properties at '/messages/0/content/0' are 'image_url'"],
		[
			{ type: "hologram" },
			"8001: Invalid input: /messages/0/content/0/type is not a kind of content that engines know",
		],
		[
			{ type: "image_url", image_url: { url: "https://x/y.png" } },
			"5006: Error: '/messages/0/content/0/image_url/url' must be a data: URI",
		],
	])("is refused: %#", (part, message) => {
		expect(() => messages([{ role: "user", content: [part] }], { embeddedImages: true })).toThrowError(
			message,
		);
	});
});

describe("an assistant's reasoning", () => {
	const thinking = { type: "thinking", thinking: "Hm.", signature: "sig" } as const;
	const redacted = { type: "redacted_thinking", data: "x" } as const;
	const read = (fields: Partial<SentMessage>) =>
		messages([{ role: "assistant", content: "a", ...fields }])[0];

	it("keeps Anthropic's signatures, and is also in reasoning_content", () => {
		expect(read({ thinking_blocks: [{ ...thinking, data: null }, redacted] })).toStrictEqual({
			role: "assistant",
			content: "a",
			reasoning_content: "Hm.",
			thinking_blocks: [thinking, redacted],
		});
		expect(read({ thinking_blocks: [redacted], reasoning_content: "Hm" })).toMatchObject({
			reasoning_content: "Hm",
		});
		expect(read({ thinking_blocks: [] })).not.toHaveProperty("thinking_blocks");
	});
});
