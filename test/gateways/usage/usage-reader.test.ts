/** The usage of answers as the providers document them, or as they were recorded, in pieces of any size. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AnswerUsage } from "../../../src/gateways/usage/answer-usage.ts";
import { usageReader } from "../../../src/gateways/usage/usage-reader.ts";
import messageJson from "../../fixtures/anthropic/message.json?raw";
import overloadedSse from "../../fixtures/anthropic/overloaded.sse?raw";
import textSse from "../../fixtures/anthropic/text.sse?raw";
import geminiJson from "../../fixtures/gemini/chat.json?raw";
import geminiSse from "../../fixtures/gemini/chat.sse?raw";
import ollamaLines from "../../fixtures/ollama/chat.ndjson?raw";
import chatSse from "../../fixtures/openai/openai/chat.sse?raw";
import completionJson from "../../fixtures/openai/openai/completion.json?raw";
import response from "../../fixtures/openai/openai/response.json";
import responseJson from "../../fixtures/openai/openai/response.json?raw";
import workersAiJson from "../../fixtures/workers-ai/chat-completion.json?raw";
import workersAiSse from "../../fixtures/workers-ai/native.sse?raw";
import { pieces } from "../../streams/pieces.ts";

const JSON_TYPE = "application/json";
const EVENTS = "text/event-stream; charset=utf-8";
const LINES = "application/x-ndjson";

interface Counts {
	input: number | undefined;
	cached: number;
	output: number | undefined;
	model: string | undefined;
}

function read(type: string | null, body: readonly Uint8Array[]): Counts {
	const answer = new AnswerUsage();
	const reader = usageReader(type, (part) => answer.add(part));
	for (const piece of body) reader?.push(piece);
	reader?.end();
	const { usage, model } = answer;
	return {
		input: usage?.prompt_tokens,
		cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
		output: usage?.completion_tokens,
		model,
	};
}

const readText = (type: string | null, body: string): Counts => read(type, pieces(body, []));

const counts = (input: number, output: number, model?: string, cached = 0): Counts => ({
	input,
	cached,
	output,
	model,
});
const NONE: Counts = { input: undefined, cached: 0, output: undefined, model: undefined };

const data = (...events: object[]): string =>
	events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const named = (...events: { type: string }[]): string =>
	events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const EMBEDDINGS = {
	object: "list",
	data: [{ object: "embedding", index: 0, embedding: [0.1, -0.2] }],
	model: "text-embedding-3-small",
	usage: { prompt_tokens: 8, total_tokens: 8 },
};
/** Without `include_usage`, Groq has the usage here. */
const GROQ = {
	id: "1",
	model: "llama-3.3-70b-versatile",
	choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
	x_groq: {
		id: "req_1",
		usage: { prompt_tokens: 36, completion_tokens: 4, total_tokens: 40, queue_time: 0.1 },
	},
};
/** Bedrock's Converse. */
const CONVERSE = {
	metrics: { latencyMs: 1175 },
	output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
	stopReason: "end_turn",
	usage: { inputTokens: 30, outputTokens: 628, totalTokens: 658 },
};
const COHERE = {
	id: "c",
	finish_reason: "COMPLETE",
	usage: { billed_units: { input_tokens: 5, output_tokens: 418 } },
};
const COHERE_V1 = {
	text: "Hi",
	meta: { api_version: { version: "1" }, billed_units: { input_tokens: 5, output_tokens: 41 } },
};
const RUN = {
	id: "run_1",
	object: "thread.run",
	model: "gpt-4o",
	usage: { prompt_tokens: 20, completion_tokens: 11, total_tokens: 31 },
};

/** A model of Google with OpenAI's fields: thoughts are in the total only, as any other tokens of another engine may be. */
const thinking = (model: string): string =>
	JSON.stringify({
		...{ object: "chat.completion", model, choices: [] },
		usage: { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
	});

const ANSWERS: [name: string, type: string, body: string, counts: Counts][] = [
	["OpenAI's completions", JSON_TYPE, completionJson, counts(5, 2, "gpt-3.5-turbo-instruct")],
	...["gemini-2.5-flash", "models/gemini-2.5-flash", "google/gemini-2.5-flash"].map(
		(model): [string, string, string, Counts] => [
			`OpenAI's fields from ${model}`,
			JSON_TYPE,
			thinking(model),
			counts(20, 603, model),
		],
	),
	["OpenAI's fields from an engine", JSON_TYPE, thinking("my-gemini"), counts(20, 198, "my-gemini")],
	["OpenAI's stream of a chat", EVENTS, chatSse, counts(19, 10, "gpt-5.4-mini")],
	[
		"OpenAI's embeddings",
		JSON_TYPE,
		JSON.stringify(EMBEDDINGS, null, 2),
		counts(8, 0, "text-embedding-3-small"),
	],
	["OpenAI's Responses", JSON_TYPE, responseJson, counts(36, 87, "gpt-5-2025-08-07", 30)],
	[
		"OpenAI's stream of Responses",
		EVENTS,
		named(
			{ type: "response.created", ...{ response: { ...response, output: [], usage: null } } },
			{ type: "response.output_text.delta", ...{ delta: 'a "usage": {"input_tokens": 9} b' } },
			{ type: "response.completed", ...{ response } },
		),
		counts(36, 87, "gpt-5-2025-08-07", 30),
	],
	[
		"OpenAI's stream of a run",
		EVENTS,
		data({ ...RUN, object: "thread.run.step", usage: { ...RUN.usage, completion_tokens: 5 } }, RUN),
		counts(20, 11, "gpt-4o"),
	],
	["Anthropic's Messages", JSON_TYPE, messageJson, counts(126, 9, "claude-sonnet-4-5-20250929", 100)],
	["Anthropic's stream", EVENTS, textSse, counts(126, 9, "claude-sonnet-4-5-20250929", 100)],
	[
		"Anthropic's stream with a usage in its output",
		EVENTS,
		textSse.replace(
			"event: content_block_stop",
			`${named({ type: "content_block_start", ...{ content_block: { type: "tool_use", input: { usage: { input_tokens: 999 } } } } })}event: content_block_stop`,
		),
		counts(126, 9, "claude-sonnet-4-5-20250929", 100),
	],
	["Gemini", JSON_TYPE, geminiJson, counts(12, 36, "gemini-2.5-flash", 4)],
	["Gemini's stream", EVENTS, geminiSse, counts(12, 36, "gemini-2.5-flash")],
	[
		"Gemini's stream as a list",
		JSON_TYPE,
		`[${geminiJson}\n,\r\n${geminiJson}]`,
		counts(12, 36, "gemini-2.5-flash", 4),
	],
	["Workers AI", JSON_TYPE, workersAiJson, counts(13, 791, "@cf/moonshotai/kimi-k2.6", 3)],
	["Workers AI's stream", EVENTS, workersAiSse, counts(10, 50)],
	["Ollama's stream", LINES, ollamaLines, counts(26, 282, "llama3.2")],
	["Groq's stream", EVENTS, data(GROQ), counts(36, 4, GROQ.model)],
	["Bedrock's Converse", JSON_TYPE, JSON.stringify(CONVERSE), counts(30, 628)],
	["Cohere's chat", JSON_TYPE, JSON.stringify(COHERE), counts(5, 418)],
	["Cohere's stream", EVENTS, named({ type: "message-end", ...{ delta: COHERE } }), counts(5, 418)],
	["Cohere's first chat", JSON_TYPE, JSON.stringify(COHERE_V1), counts(5, 41)],
	[
		"Cohere's first stream",
		"application/stream+json",
		`${JSON.stringify({ event_type: "text-generation", text: "Hi" })}\n${JSON.stringify({ event_type: "stream-end", response: COHERE_V1 })}\n`,
		counts(5, 41),
	],
	[
		"Replicate",
		JSON_TYPE,
		JSON.stringify({
			model: "meta/llama",
			output: ["Hi"],
			metrics: { input_token_count: 3, output_token_count: 2 },
		}),
		counts(3, 2, "meta/llama"),
	],
];

describe("the usage in an answer", () => {
	it.each(ANSWERS)("of %s is read", (_, type, body, expected) => {
		expect(readText(type, body)).toEqual(expected);
	});

	it.each(ANSWERS)("of %s is read from pieces of any size", (_, type, body, expected) => {
		expect(
			read(
				type,
				[...new TextEncoder().encode(body)].map((byte) => Uint8Array.of(byte)),
			),
		).toEqual(expected);
		fc.assert(
			fc.property(fc.array(fc.nat(body.length)), (places) => {
				expect(read(type, pieces(body, places))).toEqual(expected);
			}),
		);
	});

	it.each(ANSWERS.filter(([, type]) => type === EVENTS))(
		"of %s is read with other line breaks",
		(_, type, body, expected) => {
			const lines = body.replaceAll("\r\n", "\n");
			expect(readText(type, `: comment\r\n\r\n${lines.replaceAll("\n", "\r\n")}`)).toEqual(expected);
			expect(readText(type, lines.trimEnd())).toEqual(expected);
		},
	);

	it("is read from an event of several lines", () => {
		const lines = JSON.stringify(GROQ, null, 1).split("\n");
		const event = `${lines.map((line) => `data: ${line}`).join("\n")}\n\n`;
		expect(readText(EVENTS, event)).toEqual(counts(36, 4, GROQ.model));
	});

	it("has no name of a model that is too long", () => {
		const usage = { prompt_tokens: 3, completion_tokens: 2 };
		for (const model of ["m".repeat(257), 5]) {
			expect(readText(EVENTS, data({ model, usage }))).toEqual(counts(3, 2));
		}
	});

	it("is what was received, if the answer breaks off", () => {
		const [start = ""] = textSse.split("event: message_delta");
		expect(readText(EVENTS, start)).toEqual(counts(126, 1, "claude-sonnet-4-5-20250929", 100));
		expect(readText(EVENTS, chatSse.slice(0, chatSse.indexOf("data: [DONE]") - 20))).toEqual(NONE);
		expect(readText(JSON_TYPE, messageJson.slice(0, -3))).toEqual(NONE);
	});

	it("of several totals is the last, unless it is smaller", () => {
		const chunk = (prompt_tokens: number, completion_tokens: number) => ({
			usage: { prompt_tokens, completion_tokens },
		});
		expect(readText(EVENTS, data(chunk(9, 1), chunk(9, 2), chunk(0, 0)))).toEqual(counts(9, 2));
	});

	it("is read from images and events of any size", () => {
		const image = "A".repeat(3_000_000);
		const images = {
			data: [{ b64_json: image }],
			usage: { input_tokens: 50, output_tokens: 4_160, total_tokens: 4_210 },
		};
		expect(readText(JSON_TYPE, JSON.stringify(images))).toEqual(counts(50, 4_160));
		const withImage = { ...response, output: [{ type: "image_generation_call", result: image }] };
		const body = named(
			{ type: "response.created", ...{ response: { ...response, instructions: image, usage: null } } },
			{ type: "response.completed", ...{ response: withImage } },
		);
		const places = Array.from({ length: 200 }, (_, nth) => nth * 40_000);
		expect(read(EVENTS, pieces(body, places))).toEqual(counts(36, 87, "gpt-5-2025-08-07", 30));
		const lines = JSON.stringify(GROQ, null, 1).replaceAll("\n", "\ndata: ");
		expect(readText(EVENTS, `${body}data: ${lines}\n\n`).model).toBe(GROQ.model);
	});

	it.each([
		["an error", JSON_TYPE, '{"error":{"message":"no","usage":{"prompt_tokens":1}}}'],
		["an object of another name", JSON_TYPE, '{"message":{"usage":{"prompt_tokens":1}}}'],
		["zeros", JSON_TYPE, '{"object":"batch","usage":{"input_tokens":0,"output_tokens":0}}'],
		["a count of tokens", JSON_TYPE, '{"input_tokens":14,"totalTokens":14}'],
		["another value", JSON_TYPE, "[1,2,3]"],
		["a text", JSON_TYPE, '"usage"'],
		["no JSON", JSON_TYPE, "usage: 5"],
		["nothing", JSON_TYPE, ""],
		["a stream without usage", EVENTS, 'data: {"choices":[],"usage":null}\n\ndata: [DONE]\n\n'],
		["an overloaded stream", EVENTS, overloadedSse.replaceAll(/"usage":\{[^}]*\}/g, '"usage":null')],
		["no events", EVENTS, 'data: {"usage":{\n\n\n\nhello'],
		["a usage that is no object", EVENTS, 'data: {"usage":{"prompt_tokens":{}}}\n\ndata: {"usage":[1]}\n\n'],
		["audio", "audio/mpeg", messageJson],
		["a page", "text/html", messageJson],
		["no type", null, messageJson],
	])("is absent from %s", (_, type, body) => {
		expect(readText(type, body)).toEqual(NONE);
	});

	it("is read or absent for any bytes: nothing throws", () => {
		fc.assert(
			fc.property(
				fc.constantFrom(JSON_TYPE, EVENTS, LINES),
				fc.array(fc.uint8Array({ maxLength: 60 })),
				(type, body) => {
					read(type, body);
				},
			),
		);
		fc.assert(
			fc.property(fc.constantFrom(...ANSWERS), fc.nat(), fc.nat(255), ([, type, body], place, byte) => {
				const bytes = new TextEncoder().encode(body);
				bytes[place % bytes.length] = byte;
				read(type, [bytes]);
			}),
		);
	});

	it("does not depend on what becomes of a piece", () => {
		const answer = new AnswerUsage();
		const reader = usageReader(EVENTS, (part) => answer.add(part));
		for (const piece of pieces(
			textSse,
			Array.from({ length: 300 }, (_, nth) => nth * 7),
		)) {
			reader?.push(piece);
			piece.fill(0);
		}
		expect(answer.usage).toMatchObject({ prompt_tokens: 126, completion_tokens: 9 });
	});
});
