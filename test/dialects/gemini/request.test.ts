import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { geminiContent } from "../../../src/dialects/gemini/gemini.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { Model } from "../../../src/models/model.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { CHAT_MODEL } from "../responses/fixtures.ts";

const user = (...parts: object[]) => ({ role: "user", parts });
const model = (...parts: object[]) => ({ role: "model", parts });
const HI = [user({ text: "hi" })];

function read(body: object, of: Model = CHAT_MODEL): ChatInput {
	const { schema, read: readInputs } = geminiContent.reader;
	const call = readInputs(validate(schema(of), body) as never, of);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return call.input;
}

function refusal(body: object): string {
	try {
		read({ contents: HI, ...body });
	} catch (error) {
		if (error instanceof AiError) return `${error.code} ${error.description}`;
		throw error;
	}
	throw new Error("the request was accepted");
}

describe("a request of generateContent", () => {
	it("has every field under chat's name", () => {
		expect(
			read({
				contents: HI,
				systemInstruction: { parts: [{ text: "Be short." }, { text: "Be kind." }] },
				generationConfig: {
					temperature: 1.5,
					topP: 0.9,
					topK: 40,
					maxOutputTokens: 100,
					candidateCount: 2,
					stopSequences: ["END"],
					seed: 7,
					presencePenalty: 0.1,
					frequencyPenalty: 0.2,
					responseMimeType: "application/json",
					thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
				},
				tools: [
					{
						functionDeclarations: [
							{ name: "look", description: "Looks", parametersJsonSchema: { type: "object", default_x: 1 } },
							{
								name: "add",
								parameters: {
									type: "OBJECT",
									properties: {
										first_number: { type: "INTEGER", format: "int32", nullable: true },
										list: { type: "ARRAY", items: { type: "STRING" }, min_items: "1" },
										unit: { type: "STRING", format: "enum", enum: ["a"], nullable: true },
									},
									required: ["first_number"],
									propertyOrdering: ["first_number"],
								},
							},
						],
					},
					{ googleSearch: {} },
				],
				toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look"] } },
				safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
			}),
		).toEqual({
			messages: [
				{ role: "system", content: "Be short.\nBe kind." },
				{ role: "user", content: "hi" },
			],
			stream: false,
			temperature: 1.5,
			top_p: 0.9,
			top_k: 40,
			max_tokens: 100,
			n: 2,
			stop: ["END"],
			seed: 7,
			presence_penalty: 0.1,
			frequency_penalty: 0.2,
			response_format: { type: "json_object" },
			reasoning_effort: "medium",
			reasoning_summary: "auto",
			tools: [
				{
					type: "function",
					function: { name: "look", description: "Looks", parameters: { type: "object", default_x: 1 } },
				},
				{
					type: "function",
					function: {
						name: "add",
						parameters: {
							type: "object",
							properties: {
								first_number: { type: ["integer", "null"] },
								list: { type: "array", items: { type: "string" }, minItems: 1 },
								unit: { type: ["string", "null"], enum: ["a", null] },
							},
							required: ["first_number"],
						},
					},
				},
			],
			tool_choice: { type: "function", function: { name: "look" } },
			dropped: ["tools.googleSearch"],
		});
	});

	it("may be in snake_case, except for the caller's own keys", () => {
		const input = read({
			contents: [
				user({ inline_data: { mime_type: "image/png", data: "AAAA" } }),
				model({ function_call: { name: "f", args: { in_it: { a_b: 1 } } } }),
				{ role: "function", parts: [{ function_response: { name: "f", response: { out_put: 1 } } }] },
			],
			system_instruction: { parts: [{ text: "s" }] },
			generation_config: {
				max_output_tokens: 5,
				response_mime_type: "application/json",
				response_schema: { any_of: [{ type: "STRING" }], properties: { any_of: { type: "STRING" } } },
			},
		});
		expect(input).toMatchObject({
			max_tokens: 5,
			response_format: {
				json_schema: {
					schema: { anyOf: [{ type: "string" }], properties: { any_of: { type: "string" } } },
				},
			},
		});
		expect(input.messages).toEqual([
			{ role: "system", content: "s" },
			{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
			{
				role: "assistant",
				content: null,
				tool_calls: [
					{ id: "call_1", type: "function", function: { name: "f", arguments: '{"in_it":{"a_b":1}}' } },
				],
			},
			{ role: "tool", tool_call_id: "call_1", content: '{"out_put":1}' },
		]);
	});

	it("matches calls and results by id, or by name in order", () => {
		const { messages } = read({
			contents: [
				...HI,
				model(
					{ text: "Hm.", thought: true },
					{ text: "Looking." },
					{ functionCall: { name: "a", args: {} }, thoughtSignature: "sig" },
					{ functionCall: { name: "a", args: { n: 2 } } },
					{ functionCall: { id: "x", name: "b" } },
				),
				user(
					{ functionResponse: { id: "x", name: "b", response: { output: "third" } } },
					{ functionResponse: { name: "a", response: { result: "first" } } },
					{ functionResponse: { name: "a", response: { result: 2 } } },
					{ text: "So?" },
				),
			],
		});
		expect(messages.slice(1)).toEqual([
			{
				role: "assistant",
				content: "Looking.",
				reasoning_content: "Hm.",
				tool_calls: [
					{
						id: "call_1",
						type: "function",
						function: { name: "a", arguments: "{}" },
						extra_content: { google: { thought_signature: "sig" } },
					},
					{ id: "call_2", type: "function", function: { name: "a", arguments: '{"n":2}' } },
					{ id: "x", type: "function", function: { name: "b", arguments: "{}" } },
				],
			},
			{ role: "tool", tool_call_id: "x", content: "third" },
			{ role: "tool", tool_call_id: "call_1", content: "first" },
			{ role: "tool", tool_call_id: "call_2", content: '{"result":2}' },
			{ role: "user", content: "So?" },
		]);
	});

	it("reads the images of a result", () => {
		const { messages } = read({
			contents: [
				...HI,
				model({ functionCall: { id: "x", name: "snapshot" } }),
				user({
					functionResponse: {
						id: "x",
						name: "snapshot",
						response: { output: "The screen:" },
						parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
					},
				}),
			],
		});
		expect(messages.at(-1)).toEqual({
			role: "tool",
			tool_call_id: "x",
			content: [
				{ type: "text", text: "The screen:" },
				{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
			],
		});
	});

	it("leaves out a result that is repeated", () => {
		const result = { functionResponse: { id: "x", name: "b", response: { output: "one" } } };
		const { messages } = read({
			contents: [
				...HI,
				model({ functionCall: { id: "x", name: "b" } }),
				user(result, { text: "So?" }, result),
			],
		});
		expect(messages.slice(2)).toEqual([
			{ role: "tool", tool_call_id: "x", content: "one" },
			{ role: "user", content: "So?" },
		]);
	});

	it("reads a result without its call, if only tokens are counted", () => {
		const contents = [user({ functionResponse: { name: "b", response: { output: "one" } } })];
		expect(read({ contents, counted: true }).messages).toEqual([
			{ role: "tool", tool_call_id: "call_1", content: "one" },
		]);
	});

	it.each(["constructor", "toString", "__proto__"])("has audio of the format %s as it was sent", (format) => {
		const { messages } = read({
			contents: [user({ inlineData: { mimeType: `audio/${format}`, data: "AAAA" } })],
		});
		expect(messages[0]?.content).toEqual([
			{ type: "input_audio", input_audio: { data: "AAAA", format: format.toLowerCase() } },
		]);
	});

	it("has audio, image URLs and files as parts", () => {
		const { messages } = read({
			contents: [
				user(
					{ inlineData: { mimeType: "audio/mpeg", data: "AAAA" } },
					{ fileData: { fileUri: "https://a.test/b.png", mimeType: "image/png" } },
					{ inlineData: { mimeType: "application/pdf", data: "AAAA" } },
				),
			],
		});
		expect(messages[0]?.content).toEqual([
			{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
			{ type: "image_url", image_url: { url: "https://a.test/b.png" } },
			{ type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } },
		]);
	});

	it.each([
		[{ thinkingBudget: 0 }, null],
		[{ thinkingBudget: -1 }, undefined],
		[{ thinkingBudget: 512 }, "low"],
		[{ thinkingBudget: 24_576 }, "high"],
		[{ thinkingLevel: "minimal" }, "minimal"],
		[undefined, undefined],
	])("with %j has the effort %s", (thinkingConfig, effort) => {
		expect(read({ contents: HI, generationConfig: { thinkingConfig } }).reasoning_effort).toBe(effort);
	});

	it.each([
		["NONE", undefined, "none"],
		["AUTO", undefined, undefined],
		["ANY", undefined, "required"],
		[
			"ANY",
			["a", "b"],
			{
				type: "allowed_tools",
				allowed_tools: {
					mode: "required",
					tools: [
						{ type: "function", function: { name: "a" } },
						{ type: "function", function: { name: "b" } },
					],
				},
			},
		],
	])("with the mode %s and %j has the choice %j", (mode, allowedFunctionNames, choice) => {
		const tools = [{ functionDeclarations: [{ name: "a" }, { name: "b" }] }];
		const toolConfig = { functionCallingConfig: { mode, allowedFunctionNames } };
		expect(read({ contents: HI, tools, toolConfig }).tool_choice).toEqual(choice);
	});

	it.each([
		[{ contents: [] }, "5006"],
		[{ contents: [user({ text: "" })] }, "8001 Invalid input: contents: there is nothing in them"],
		[
			{ tools: [{ googleSearch: {} }] },
			'8001 Invalid input: tools: "googleSearch" is a tool of Google\'s own, which this model does not have',
		],
		[{ cachedContent: "cachedContents/a" }, "8001 Invalid input: cachedContent: nothing is stored here"],
		[
			{ contents: [user({ executableCode: { code: "1" } })] },
			'8001 Invalid input: contents[0].parts[0]: "executableCode" is not supported',
		],
		[
			{ contents: [user({ functionResponse: { name: "a", response: {} } })] },
			"8001 Invalid input: contents[0].parts[0].functionResponse: there is no such call before it",
		],
		[{ contents: [user({ fileData: { fileUri: "http://a.test/b.png" } })] }, "must be an https URL"],
		[{ generationConfig: { responseModalities: ["AUDIO"] } }, "only TEXT is supported"],
	])("with %j is refused", (body, sentence) => expect(refusal(body)).toContain(sentence));
});
