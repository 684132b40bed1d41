/** Requests that the vendor of the API refuses: the text of the body, and the place that the error names. */
import { MODEL } from "./hosts.ts";

interface RefusedRequest {
	name: string;
	path: string;
	text: string;
	/** A part of the sentence. */
	names: string;
}

const chatBody = (fields: object): string =>
	JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hi" }], ...fields });
const chat = (name: string, text: string, names: string): RefusedRequest => ({
	...{ name, text, names },
	path: "/v1/chat/completions",
});
const messages = (name: string, fields: object, names: string): RefusedRequest => ({
	...{ name, names },
	path: "/v1/messages",
	text: JSON.stringify({
		model: MODEL,
		max_tokens: 100,
		messages: [{ role: "user", content: "Hi" }],
		...fields,
	}),
});
const responses = (name: string, fields: object, names: string): RefusedRequest => ({
	...{ name, names },
	path: "/v1/responses",
	text: JSON.stringify({ model: MODEL, input: "Hi", store: false, ...fields }),
});
const gemini = (name: string, fields: object, names: string): RefusedRequest => ({
	...{ name, names },
	path: `/v1beta/models/${MODEL}:generateContent`,
	text: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }], ...fields }),
});

export const REFUSED_REQUESTS: readonly RefusedRequest[] = [
	chat("a trailing comma", `${chatBody({}).slice(0, -1)},}`, "JSON"),
	chat("a comment", chatBody({}).replace("{", "{/* */"), "JSON"),
	chat("single quotes", chatBody({}).replaceAll('"', "'"), "JSON"),
	chat("NaN", chatBody({}).replace("{", '{"temperature":NaN,'), "JSON"),
	chat("nothing", "", "body"),
	chat("a list", "[]", ""),
	chat("a text", '"Hi"', ""),
	chat("no messages", chatBody({ messages: [] }), "messages"),
	chat("messages as a text", chatBody({ messages: "Hi" }), "messages"),
	chat("a message of null", chatBody({ messages: [null] }), "messages/0"),
	chat("an unknown role", chatBody({ messages: [{ role: "robot", content: "Hi" }] }), "messages/0/role"),
	chat("content as a number", chatBody({ messages: [{ role: "user", content: 4 }] }), "messages/0/content"),
	chat(
		"a part of an unknown type",
		chatBody({ messages: [{ role: "user", content: [{ type: "hologram" }] }] }),
		"messages/0/content/0",
	),
	chat("a temperature as a text", chatBody({ temperature: "0.5" }), "temperature"),
	chat("a temperature above 2", chatBody({ temperature: 3 }), "temperature"),
	chat("n of 0", chatBody({ n: 0 }), "/n"),
	chat("stream as a text", chatBody({ stream: "true" }), "stream"),
	chat("tools as an object", chatBody({ tools: {} }), "tools"),
	chat("a tool without a name", chatBody({ tools: [{ type: "function", function: {} }] }), "tools[0]"),
	chat(
		"a choice of a tool that is not offered",
		chatBody({
			tools: [{ type: "function", function: { name: "a" } }],
			tool_choice: { type: "function", function: { name: "b" } },
		}),
		"tool_choice",
	),
	chat("an unknown format", chatBody({ response_format: { type: "xml" } }), "response_format"),
	messages("no messages", { messages: [] }, "messages"),
	messages("max_tokens of 0", { max_tokens: 0 }, "max_tokens"),
	messages("no max_tokens", { max_tokens: undefined }, "max_tokens"),
	messages("an unknown role", { messages: [{ role: "robot", content: "Hi" }] }, "messages"),
	messages("a temperature above 1", { temperature: 1.5 }, "temperature"),
	messages("a budget below its least", { thinking: { type: "enabled", budget_tokens: 10 } }, "thinking"),
	responses("input as a number", { input: 4 }, "input"),
	responses("an unknown format", { text: { format: { type: "xml" } } }, "text"),
	responses("a temperature as a text", { temperature: "1" }, "temperature"),
	// The sentences are those of Google's JSON reader.
	gemini(
		"a field of OpenAI's",
		{ stream: true },
		'Invalid JSON payload received. Unknown name \\"stream\\": Cannot find field.',
	),
	gemini(
		"two unknown fields",
		{ maxTokens: 5, messages: [] },
		'Unknown name \\"maxTokens\\": Cannot find field.\\nUnknown name \\"messages\\": Cannot find field.',
	),
	gemini(
		"an unknown setting",
		{ generation_config: { maxTokens: 5 } },
		`Unknown name \\"maxTokens\\" at 'generation_config': Cannot find field.`,
	),
	gemini(
		"an unknown setting of thoughts",
		{ generationConfig: { thinkingConfig: { effort: "low" } } },
		`Unknown name \\"effort\\" at 'generation_config.thinking_config'`,
	),
	gemini(
		"an unknown field of a part",
		{ contents: [{ role: "user", parts: [{ text: "Hi" }, { text: "Hi", cache_control: {} }] }] },
		`Unknown name \\"cache_control\\" at 'contents[0].parts[1]'`,
	),
	gemini(
		"an unknown field of data",
		{ contents: [{ role: "user", parts: [{ inline_data: { mimeType: "image/png", data: "", url: "" } }] }] },
		`Unknown name \\"url\\" at 'contents[0].parts[0].inline_data'`,
	),
	gemini(
		"an unknown field of contents",
		{ contents: [{ role: "user", content: "Hi", parts: [{ text: "Hi" }] }] },
		`Unknown name \\"content\\" at 'contents[0]'`,
	),
	gemini(
		"an unknown field of a function",
		{ tools: [{ functionDeclarations: [{ name: "a", strict: true }] }] },
		`Unknown name \\"strict\\" at 'tools[0].function_declarations[0]'`,
	),
	gemini(
		"an unknown field of a choice",
		{ toolConfig: { functionCallingConfig: { type: "auto" } } },
		`Unknown name \\"type\\" at 'tool_config.function_calling_config'`,
	),
	gemini("no contents", { contents: [] }, "contents"),
	gemini("contents as a number", { contents: 4 }, "contents"),
	gemini("an unknown role", { contents: [{ role: "robot", parts: [{ text: "Hi" }] }] }, "contents"),
];
