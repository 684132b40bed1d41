import { describe, expect, it } from "vitest";
import type {
	ChatInput,
	ChatMessage,
	ChatTool,
	ContentPart,
} from "../../../src/tasks/text-generation/types.ts";
import chatJson from "../../fixtures/gemini/chat.json?raw";
import { sealed } from "../plain-seals.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, GOOGLE, HELLO, KEY } from "./ask.ts";

async function asked(input: Partial<ChatInput>, model = "gemini-2.5-flash") {
	const asking = ask("text-generation", { ...HELLO, ...input }, () => json(chatJson), { target: { model } });
	await asking.answer;
	const [request] = asking.call.requests;
	if (!request) throw new Error("nothing was asked");
	return request;
}
const body = async (input: Partial<ChatInput>, model?: string) => (await asked(input, model)).json;
const contents = async (messages: ChatMessage[], model?: string) =>
	(await body({ messages }, model)).contents;

describe("the address", () => {
	it("is the model's method, with the key only in Google's header", async () => {
		const { url, headers } = await asked({});
		expect(url).toBe(`${GOOGLE}/v1beta/models/gemini-2.5-flash:generateContent`);
		expect(headers.get("x-goog-api-key")).toBe(KEY);
		expect(headers.has("authorization")).toBe(false);
	});

	it("has no key if none is configured", async () => {
		const asking = ask("text-generation", HELLO, () => json(chatJson), { target: { key: undefined } });
		await asking.answer;
		expect(asking.call.requests[0]?.headers.has("x-goog-api-key")).toBe(false);
	});

	it.each([
		["models/gemini-2.5-pro", "models/gemini-2.5-pro:generateContent"],
		["../files/x:download?alt=media#", "models/..%2Ffiles%2Fx%3Adownload%3Falt%3Dmedia%23:generateContent"],
	])("encodes the model %s as one segment", async (model, path) => {
		expect((await asked({}, model)).url).toBe(`${GOOGLE}/v1beta/${path}`);
	});

	it("keeps the version of the configured address", async () => {
		const url = "https://gateway.test/google-ai-studio/v1";
		const asking = ask("text-generation", HELLO, () => json(chatJson), { target: { url } });
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe(`${url}/models/gemini-2.5-flash:generateContent`);
	});
});

describe("a conversation", () => {
	it("separates instructions, and has two roles", async () => {
		const sent = await body({
			messages: [
				{ role: "system", content: "Be brief." },
				{ role: "user", content: "I am Alice." },
				{ role: "assistant", content: "Hello, Alice.", reasoning_content: "a greeting" },
				{ role: "developer", content: "Be polite." },
				{ role: "user", content: "What is my name?" },
			],
		});
		expect(sent).toEqual({
			systemInstruction: { parts: [{ text: "Be brief." }, { text: "Be polite." }] },
			contents: [
				{ role: "user", parts: [{ text: "I am Alice." }] },
				{ role: "model", parts: [{ text: "Hello, Alice." }] },
				{ role: "user", parts: [{ text: "What is my name?" }] },
			],
			generationConfig: {},
		});
	});

	it("has one instruction, or none", async () => {
		const hi: ChatMessage = { role: "user", content: "hi" };
		const sent = { contents: [{ role: "user", parts: [{ text: "hi" }] }], generationConfig: {} };
		expect(await body({ messages: [hi] })).toEqual(sent);
		expect(await body({ messages: [{ role: "system", content: "" }, hi] })).toEqual(sent);
		expect(await body({ messages: [{ role: "system", content: "Be brief." }, hi] })).toEqual({
			...sent,
			systemInstruction: { parts: [{ text: "Be brief." }] },
		});
	});

	it("omits messages and parts without content", async () => {
		const parts = [
			{ type: "text", text: "" },
			{ type: "text" },
			{ type: "refusal", refusal: "" },
			{ type: "refusal", refusal: "No." },
		] as ContentPart[];
		expect(
			await contents([
				{ role: "user", content: "a" },
				{ role: "assistant", content: "" },
				{ role: "assistant", content: null },
				{ role: "assistant", content: parts },
			]),
		).toEqual([
			{ role: "user", parts: [{ text: "a" }] },
			{ role: "model", parts: [{ text: "No." }] },
		]);
	});

	it.each([
		[{ type: "input_audio" }, { inlineData: { mimeType: "audio/wav", data: "" } }],
		[
			{ type: "input_audio", input_audio: { data: "BBBB", format: "ogg" } },
			{ inlineData: { mimeType: "audio/ogg", data: "BBBB" } },
		],
		[
			{ type: "file", file: { file_data: "JVBERi0=" } },
			{ inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } },
		],
		[{ type: "image_url", image_url: { url: "https://[" } }, { fileData: { fileUri: "https://[" } }],
		[
			{ type: "image_url", image_url: { url: "https://a.test/b.zip" } },
			{ fileData: { fileUri: "https://a.test/b.zip" } },
		],
	] as [ContentPart, object][])("has the part %j", async (part, sent) => {
		expect(await contents([{ role: "user", content: [part] }])).toEqual([{ role: "user", parts: [sent] }]);
	});

	it.each([
		{ type: "image_url" },
		{ type: "image_url", image_url: { url: "AAAA" } },
		{ type: "file", file: { file_data: "ftp://a.test/b.pdf" } },
	] as ContentPart[])("refuses the part %j", async (part) => {
		const messages: ChatMessage[] = [{ role: "user", content: [part] }];
		expect(await failureOf(body({ messages }))).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' has no input for a file that is neither a data: nor an http(s): URL",
		});
	});

	it("sends instructions without other messages as a user message", async () => {
		expect(await body({ messages: [{ role: "system", content: "Say hello." }] })).toEqual({
			contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
			generationConfig: {},
		});
	});

	it("has files inline or by URL", async () => {
		const image = (url: string) => ({ type: "image_url" as const, image_url: { url } });
		expect(
			await contents([
				{
					role: "user",
					content: [
						{ type: "text", text: "What is this?" },
						image("data:image/png;base64,AAAA"),
						image("https://pictures.test/cat.JPG?size=2"),
						image("https://pictures.test/cat"),
						{ type: "input_audio", input_audio: { data: "BBBB", format: "mp3" } },
						{ type: "file", file: { file_data: "data:application/pdf;base64,CCCC", filename: "a.pdf" } },
					],
				},
			]),
		).toEqual([
			{
				role: "user",
				parts: [
					{ text: "What is this?" },
					{ inlineData: { mimeType: "image/png", data: "AAAA" } },
					{ fileData: { fileUri: "https://pictures.test/cat.JPG?size=2", mimeType: "image/jpeg" } },
					{ fileData: { fileUri: "https://pictures.test/cat" } },
					{ inlineData: { mimeType: "audio/mp3", data: "BBBB" } },
					{ inlineData: { mimeType: "application/pdf", data: "CCCC" } },
				],
			},
		]);
	});

	const calls: ChatMessage = {
		role: "assistant",
		content: null,
		tool_calls: [
			{ id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
			{ id: "b", type: "function", function: { name: "time", arguments: "not JSON" } },
		],
	};
	const results: ChatMessage[] = [
		{ role: "tool", tool_call_id: "b", content: "noon" },
		{ role: "tool", tool_call_id: "a", content: '{"degrees":21}' },
	];

	it("has tool calls, and all results of a turn in one message", async () => {
		expect(
			await contents([
				{ role: "user", content: "Weather?" },
				calls,
				...results,
				{ role: "user", content: "So?" },
			]),
		).toEqual([
			{ role: "user", parts: [{ text: "Weather?" }] },
			{
				role: "model",
				parts: [
					{ functionCall: { id: "a", name: "weather", args: { city: "Paris" } } },
					{ functionCall: { id: "b", name: "time", args: { arguments: "not JSON" } } },
				],
			},
			{
				role: "user",
				parts: [
					{ functionResponse: { id: "b", name: "time", response: { output: "noon" } } },
					{ functionResponse: { id: "a", name: "weather", response: { degrees: 21 } } },
				],
			},
			{ role: "user", parts: [{ text: "So?" }] },
		]);
	});

	it("has the results of later turns in messages of their own, with their files", async () => {
		const png = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
		const content = [{ type: "text" as const, text: "[1]" }, png];
		const later: ChatMessage[] = [
			{ role: "user", content: "Again?" },
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: "l", type: "function", function: { name: "list", arguments: "{}" } }],
			},
			{ role: "tool", tool_call_id: "l", content },
		];
		const sent = await contents([{ role: "user", content: "Weather?" }, calls, ...results, ...later]);
		expect(sent).toHaveLength(6);
		expect(sent).toMatchObject([
			{},
			{},
			{ parts: [{ functionResponse: { id: "b" } }, { functionResponse: { id: "a" } }] },
			{ role: "user", parts: [{ text: "Again?" }] },
			{ role: "model" },
			{
				role: "user",
				parts: [
					{ functionResponse: { id: "l", name: "list", response: { output: "[1]" } } },
					{ inlineData: { mimeType: "image/png", data: "AAAA" } },
				],
			},
		]);
	});

	it.each([
		["gemini-2.5-flash", undefined],
		["gemma-3-27b-it", undefined],
		["gemini-3-flash", "skip_thought_signature_validator"],
		["gemini-flash-latest", "skip_thought_signature_validator"],
	])("of %s marks a call without a signature with %s", async (model, thoughtSignature) => {
		const [, turn] = (await contents([{ role: "user", content: "?" }, calls, ...results], model)) as {
			parts: { thoughtSignature?: string }[];
		}[];
		expect(turn?.parts[0]?.thoughtSignature).toBe(thoughtSignature);
	});

	it("sends signatures back, and marks missing ones", async () => {
		const [first, second] = calls.tool_calls ?? [];
		const seal = sealed({ place: 0, signature: "SIGNED" });
		const signed = { ...first, extra_content: { google: { thought_signature: seal } } };
		const turn = (tool_calls: unknown[]) =>
			contents(
				[{ role: "user", content: "?" }, { ...calls, tool_calls } as ChatMessage, ...results],
				"gemini-3-pro-preview",
			);
		expect(await turn([signed, second])).toMatchObject([
			{},
			{ parts: [{ thoughtSignature: "SIGNED" }, { functionCall: { name: "time" } }] },
			{},
		]);
		const unsigned = (await turn([first, second])) as { parts: object[] }[];
		expect(unsigned[1]?.parts.map((part) => "thoughtSignature" in part && part.thoughtSignature)).toEqual([
			"skip_thought_signature_validator",
			false,
		]);
	});

	it("sends a tool result without a call as text", async () => {
		expect(
			await contents([{ role: "tool", tool_call_id: "z", content: "1" }], "gemini-3-pro-preview"),
		).toEqual([
			{
				role: "user",
				parts: [{ text: "The result of a tool call that is not in the conversation:\n1" }],
			},
		]);
	});

	it.each([
		["a raw prompt", { messages: [], prompt: "Once" }],
		[
			"a file by its id",
			{ messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }] },
		],
		[
			"a file that is neither a data: nor an http(s): URL",
			{
				messages: [
					{ role: "user", content: [{ type: "image_url", image_url: { url: "file:///etc/passwd" } }] },
				],
			},
		],
	] as [string, Partial<ChatInput>][])("rejects %s as retryable", async (what, input) => {
		const asking = ask("text-generation", { ...HELLO, ...input }, () => json(chatJson));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: `The backend 'lab' has no input for ${what}`,
			retryable: true,
		});
		expect(asking.call.requests).toEqual([]);
	});

	it("rejects an adapter with 405", async () => {
		const { answer } = ask("text-generation", { ...HELLO, lora: "mine" }, () => json(chatJson));
		expect(await failureOf(answer)).toMatchObject({ key: "loraUnsupported" });
	});
});

describe("sampling", () => {
	it("has Gemini's field names", async () => {
		const { generationConfig } = await body({
			temperature: 0.2,
			top_p: 0.9,
			top_k: 40,
			max_tokens: 100,
			stop: ["END"],
			seed: 7,
			n: 2,
			presence_penalty: 0.1,
			frequency_penalty: -0.1,
			repetition_penalty: 1.1,
			logit_bias: { 5: 1 },
			logprobs: true,
			top_logprobs: 2,
			user: "u",
			passthrough: { store: true },
		});
		expect(generationConfig).toEqual({
			temperature: 0.2,
			topP: 0.9,
			topK: 40,
			maxOutputTokens: 100,
			stopSequences: ["END"],
			seed: 7,
			candidateCount: 2,
			presencePenalty: 0.1,
			frequencyPenalty: -0.1,
			responseLogprobs: true,
			logprobs: 2,
		});
	});

	it.each([-1, 0])("has no topK for a top_k of %i, which means all tokens elsewhere", async (top_k) => {
		expect((await body({ top_k })).generationConfig).toEqual({});
	});

	it("has no number of logprobs without logprobs", async () => {
		expect((await body({ logprobs: false, top_logprobs: 2 })).generationConfig).toEqual({});
	});

	it.each([
		[0, 0],
		[2_147_483_647, 2_147_483_647],
		[2_147_483_648, -2_147_483_648],
		[4_294_967_296 + 5, 5],
		[-1, -1],
	])("has a seed of 32 bits: %d is %d", async (seed, expected) => {
		expect((await body({ seed })).generationConfig).toMatchObject({ seed: expected });
	});

	const schema = { type: "object", properties: { known: { type: "boolean" } }, required: ["known"] };
	it.each([
		[{ type: "text" }, {}],
		[{ type: "json_object" }, { responseMimeType: "application/json" }],
		[
			{ type: "json_schema", json_schema: { name: "person", schema, strict: true } },
			{ responseMimeType: "application/json", responseJsonSchema: schema },
		],
	] as [ChatInput["response_format"], object][])(
		"has the response format %o",
		async (response_format, expected) => {
			expect((await body({ response_format })).generationConfig).toEqual(expected);
		},
	);

	it.each([
		["gemini-2.5-flash", "low", { thinkingBudget: 1024, includeThoughts: true }],
		["gemini-2.5-flash", "high", { thinkingBudget: 24_576, includeThoughts: true }],
		["gemini-2.5-flash", null, { thinkingBudget: 0 }],
		["gemini-2.5-pro", null, { thinkingBudget: 128 }],
		["gemini-3-flash-preview", "minimal", { thinkingLevel: "minimal", includeThoughts: true }],
		["gemini-3.6-flash", null, { thinkingLevel: "minimal" }],
		["gemini-3.8-flash", null, { thinkingLevel: "low" }],
		["gemini-3.5-flash-lite", null, { thinkingLevel: "minimal" }],
		["gemini-3.8-flash-lite", null, { thinkingLevel: "minimal" }],
		["gemini-3-pro-preview", "minimal", { thinkingLevel: "low", includeThoughts: true }],
		["gemini-3.1-pro-preview", "medium", { thinkingLevel: "medium", includeThoughts: true }],
		["models/gemini-flash-latest", "high", { thinkingLevel: "high", includeThoughts: true }],
		["gemma-3-27b-it", "high", undefined],
		["gemini-3-pro-preview", undefined, undefined],
	] as [string, ChatInput["reasoning_effort"], unknown][])(
		"of %s with an effort of %s",
		async (model, reasoning_effort, expected) => {
			const { generationConfig } = await body({ reasoning_effort }, model);
			expect((generationConfig as { thinkingConfig?: unknown }).thinkingConfig).toEqual(expected);
		},
	);
});

describe("tools", () => {
	const parameters = {
		type: "object",
		properties: { city: { type: "string" } },
		additionalProperties: false,
	};
	const tool = (name: string, strict?: boolean): ChatTool => ({
		type: "function",
		function: { name, description: `${name}!`, parameters, ...(strict !== undefined && { strict }) },
	});
	const declared = (name: string) => ({ name, description: `${name}!`, parametersJsonSchema: parameters });
	const tools = [tool("weather"), tool("time")];

	it("are declared with their JSON Schemas", async () => {
		const sent = await body({ tools });
		expect(sent.tools).toEqual([{ functionDeclarations: [declared("weather"), declared("time")] }]);
		expect(sent.toolConfig).toEqual({ functionCallingConfig: { mode: "AUTO" } });
	});

	it.each([
		["none", { mode: "NONE" }],
		["auto", { mode: "AUTO" }],
		["required", { mode: "ANY" }],
		[
			{ type: "function", function: { name: "time" } },
			{ mode: "ANY", allowedFunctionNames: ["time"] },
		],
	] as [ChatInput["tool_choice"], object][])(
		"are chosen by %o",
		async (tool_choice, functionCallingConfig) => {
			expect((await body({ tools, tool_choice })).toolConfig).toEqual({ functionCallingConfig });
		},
	);

	it("are sent only if allowed", async () => {
		const sent = await body({
			tools,
			tool_choice: {
				type: "allowed_tools",
				allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "time" } }] },
			},
		});
		expect(sent.tools).toEqual([{ functionDeclarations: [declared("time")] }]);
		expect(sent.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY" } });
	});

	it("use the mode VALIDATED if one is strict", async () => {
		const strict = [tool("weather", true)];
		expect((await body({ tools: strict })).toolConfig).toEqual({
			functionCallingConfig: { mode: "VALIDATED" },
		});
		expect((await body({ tools: strict, tool_choice: "required" })).toolConfig).toEqual({
			functionCallingConfig: { mode: "ANY" },
		});
	});

	it("omit the tool choice without tools", async () => {
		expect(await body({ tools: [], tool_choice: "required" })).not.toHaveProperty("toolConfig");
	});
});
