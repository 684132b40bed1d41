import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createApp } from "../../../../src/app.ts";
import { PieceReader } from "../../../../src/backends/openai/responses/delta-pattern.ts";
import { codePoint } from "../../../code-point.ts";
import { BASE, OPEN_ACCESS, testServices } from "../../../gateway.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const TYPE = "response.output_text.delta";

/** The orders in which OpenAI's service and servers in Python write the fields of an event. */
const ORDERS = {
	openai: [
		"type",
		"sequence_number",
		"item_id",
		"output_index",
		"content_index",
		"delta",
		"logprobs",
		"obfuscation",
	],
	sorted: [
		"content_index",
		"delta",
		"item_id",
		"logprobs",
		"obfuscation",
		"output_index",
		"sequence_number",
		"type",
	],
} as const;
type Order = keyof typeof ORDERS;

interface Fields {
	[name: string]: unknown;
}

const dataOf = (order: Order, changed: Fields): string => {
	const fields: Fields = {
		...{ type: TYPE, sequence_number: 4, item_id: "msg_1", output_index: 0, content_index: 0 },
		...{ delta: "Hello", logprobs: [], obfuscation: "x7Qa" },
		...changed,
	};
	const others = Object.keys(changed).filter((name) => !ORDERS[order].some((known) => known === name));
	return JSON.stringify(
		Object.fromEntries([...ORDERS[order], ...others].map((name) => [name, fields[name]])),
	);
};
const textOf = (data: string): string => `event: ${TYPE}\ndata: ${data}\n\n`;

function readerOf(order: Order): PieceReader {
	const reader = new PieceReader();
	reader.learn({ event: TYPE, data: dataOf(order, {}) }, "the part");
	return reader;
}
const read = (reader: PieceReader, text: string) => reader.read(encoder.encode(text));

describe.each(Object.keys(ORDERS) as Order[])("the pieces of a text, fields in the order %s", (order) => {
	it("are read as JSON.parse reads them", () => {
		const reader = readerOf(order);
		const event = fc.record({
			delta: fc.string({ unit: codePoint, maxLength: 20 }),
			sequence_number: fc.nat(),
			obfuscation: fc.stringMatching(/^[A-Za-z0-9]{1,16}$/),
		});
		fc.assert(
			fc.property(event, (fields) => {
				const { delta } = fields;
				const piece = read(reader, textOf(dataOf(order, fields)));
				const isCopied = delta !== "" && !JSON.stringify(delta).includes("\\u") && !delta.includes("\ufffd");
				expect(piece?.delta.text).toBe(isCopied ? delta : undefined);
				if (!piece) return;
				expect(decoder.decode(piece.delta.content)).toBe(JSON.stringify(delta).slice(1, -1));
				expect(piece.key).toBe("the part");
			}),
		);
	});

	it.each([
		["another part", dataOf(order, { output_index: 1 })],
		["another type", dataOf(order, { type: "response.refusal.delta" })],
		["another field", dataOf(order, { model: "gpt-5.6-sol" })],
		["no padding", dataOf(order, { obfuscation: undefined })],
		["an empty padding", dataOf(order, { obfuscation: "" })],
		["an escape in the padding", dataOf(order, {}).replace("x7Qa", "x\\u0037")],
		["a padding that does not end", dataOf(order, {}).replace('x7Qa"', "x7Qa")],
		["probabilities", dataOf(order, { logprobs: [{ token: "Hello", logprob: -0.1 }] })],
		["an empty piece", dataOf(order, { delta: "" })],
		["a piece that is no text", dataOf(order, { delta: null })],
		["a number that JSON does not allow", dataOf(order, {}).replace(":4", ":04")],
		["a fraction", dataOf(order, {}).replace(":4", ":4.5")],
		["no number", dataOf(order, {}).replace(":4", ":")],
		["a second piece", dataOf(order, {}).replace('"delta":', '"delta":"a","delta":')],
	])("are parsed in an event with %s", (_, data) => {
		expect(read(readerOf(order), textOf(data))).toBeUndefined();
	});

	it("are parsed in an event with another name or end", () => {
		const data = dataOf(order, {});
		for (const text of [`data: ${data}\n\n`, `event: error\ndata: ${data}\n\n`, textOf(data).slice(0, -1)])
			expect(read(readerOf(order), text)).toBeUndefined();
		expect(read(readerOf(order), textOf(data))?.delta.text).toBe("Hello");
	});
});

it.each([
	["a piece in another object", '{"type":"response.output_text.delta","part":{"delta":"a"}}'],
	["a piece beside that of the event", '{"part":{"delta":"a"},"delta":"b"}'],
	["no piece", '{"sequence_number":1}'],
	["the text of a field in another text", '{"delta":"a","item_id":"\\"sequence_number\\":1"}'],
])("an event with %s is no pattern of another number", (_, data) => {
	const reader = new PieceReader();
	reader.learn({ data }, "the part");
	expect(read(reader, `data: ${data.replace(/"a"|"b"/g, '"c"').replace(":1", ":2")}\n\n`)).toBeUndefined();
});

it("a stream whose events never repeat is parsed without further patterns", () => {
	const reader = new PieceReader();
	const data = (time: number) => dataOf("openai", { time });
	for (let time = 0; time < 4; time++) reader.learn({ event: TYPE, data: data(time) }, "the part");
	reader.learn({ event: TYPE, data: data(9) }, "the part");
	expect(read(reader, textOf(data(9)))).toBeUndefined();
	expect(read(reader, textOf(data(3)))?.delta.text).toBe("Hello");
});

interface Chunk {
	choices: { delta: { content?: string }; finish_reason: string | null }[];
}

/** The chunks of a chat whose engine streams these pieces of two parts, and then each part. */
async function chunksOf(
	order: Order,
	parts: readonly (readonly string[])[],
	write: (data: string) => string,
) {
	const item = (text: string) => ({
		...{ id: "msg_1", type: "message", status: "completed", role: "assistant" },
		content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
	});
	const output = parts.map((pieces) => item(pieces.join("")));
	let sequence_number = 0;
	const event = (type: string, fields: object): string =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: sequence_number++ })}\n\n`;
	const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5.6-sol", output: [] };
	const events = [
		event("response.created", { response: { ...response, status: "in_progress" } }),
		...parts.flatMap((pieces, output_index) => [
			event("response.output_item.added", { output_index, item: item("") }),
			...pieces.map((delta) => {
				const fields = { delta, output_index, sequence_number: sequence_number++ };
				return textOf(write(dataOf(order, fields)));
			}),
			event("response.output_text.done", { output_index, content_index: 0, text: pieces.join("") }),
		]),
		event("response.completed", { response: { ...response, status: "completed", output } }),
	];
	const services = testServices({
		vars: {
			BACKENDS: { engine: { kind: "openai", url: "https://engine.example/v1", api: "responses" } },
			ROUTES: { "gpt-*": [{ backend: "engine" }] },
		},
		fetch: async () => new Response(events.join(""), { headers: { "content-type": "text/event-stream" } }),
	});
	const answer = await createApp(services, OPEN_ACCESS).request(`${BASE}/v1/chat/completions`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({
			...{ model: "gpt-5.6-sol", stream: true, stream_options: { include_usage: true } },
			messages: [{ role: "user", content: "Hi" }],
		}),
	});
	const text = await answer.text();
	expect(text).toContain("data: [DONE]");
	return Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data = ""]) => JSON.parse(data) as Chunk);
}

const asWritten = (data: string): string => data;
/** As some servers write all characters that are not ASCII. */
const inAscii = (data: string): string =>
	data.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

it.each([
	["openai", asWritten],
	["sorted", asWritten],
	["openai", inAscii],
] as const)("a chat has the pieces of two parts, each once (%s)", async (order, write) => {
	const parts = [
		["Hel", "lo", " ", "wörld 🎈", '"\\', "\n"],
		["a", "b", "", "c", "ends"],
	];
	const chunks = await chunksOf(order, parts, write);
	const contents = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.content || []));
	expect(contents).toEqual(parts.flat().filter(Boolean));
	expect(chunks.flatMap(({ choices }) => choices.flatMap((choice) => choice.finish_reason ?? []))).toEqual([
		"stop",
	]);
});
