import { describe, expect, it } from "vitest";
import {
	bytesOf,
	CARD,
	DIGITS,
	EMAIL,
	json,
	judge,
	latin1,
	MODEL,
	ofBytes,
	raw,
	type Sent,
	user,
	withHeaders,
} from "./judge.ts";

const base64 = (text: string) => btoa(text);
const multipart = (...parts: string[]): Sent =>
	raw(`${parts.map((part) => `--x\r\n${part}\r\n`).join("")}--x--\r\n`, "multipart/form-data; boundary=x");

async function send(action: "BLOCK" | "FLAG", sent: Sent) {
	const result = await judge({ action, profiles: ["credit_card", "email", "api_key"] }, sent);
	const { calls, isFound } = result;
	return { status: "code" in result ? result.code : result.status, calls, isFound };
}

const FORMS: readonly (readonly [string, Sent])[] = [
	["a message", user(`Pay with ${CARD}`)],
	["a number", json({ model: MODEL, amount: Number(DIGITS), messages: [] })],
	["a number with an exponent", json(JSON.parse('{"n":4.111111111111111e15}'))],
	["a number in a list", json({ input: [1, Number(DIGITS)] })],
	["a key", json({ metadata: { [CARD]: true } })],
	["an email as a key", json({ tools: [{ parameters: { properties: { [EMAIL]: {} } } }] })],
	["the field id", json({ messages: [{ role: "tool", id: CARD }] })],
	["below the field id", json({ messages: [{ role: "tool", id: { deep: [CARD] } }] })],
	["the field type", user([{ type: EMAIL }])],
	["below the field type", user([{ type: { text: EMAIL } }])],
	["the field model", json({ model: EMAIL, messages: [] })],
	["the field role", json({ messages: [{ role: CARD, content: "Hi" }] })],
	["tool_call_id", json({ messages: [{ role: "tool", tool_call_id: CARD, content: "ok" }] })],
	["the field status", json({ input: [{ status: EMAIL }] })],
	["the field signature", json({ messages: [{ signature: EMAIL }] })],
	["the field format", json({ response_format: { format: { name: EMAIL } } })],
	["the field data", json({ data: CARD })],
	["the field image", json({ image: EMAIL })],
	["the field url that is no address", user([{ image_url: { url: EMAIL } }])],
	["a long address", user([{ image_url: { url: `https://a.example/${"a/".repeat(2_000)}?c=${CARD}` } }])],
	["an encoded address", user([{ image_url: { url: "https://a.example/?u=ada%40corp.example" } }])],
	[
		"parts without a space",
		user([
			{ type: "text", text: "41111111" },
			{ type: "text", text: "11111111" },
		]),
	],
	[
		"parts with a space",
		user([
			{ type: "text", text: "4111 1111" },
			{ type: "text", text: "1111 1111" },
		]),
	],
	[
		"an email in two parts",
		user([
			{ type: "text", text: "ada" },
			{ type: "text", text: "@corp.example" },
		]),
	],
	[
		"Gemini's parts",
		json({ contents: [{ parts: [{ text: "ada@co" }, { text: "rp.example" }], role: "user" }] }),
	],
	["a list of strings", json({ input: ["4111", "1111", "1111", "1111"] })],
	[
		"two messages",
		json({
			messages: [
				{ role: "user", content: "4111 1111" },
				{ role: "user", content: "1111 1111" },
			],
		}),
	],
	["a base64 data address", user([{ image_url: { url: `data:text/plain;base64,${base64(CARD)}` } }])],
	[
		"a data address that names an image",
		user([{ image_url: { url: `data:image/png;base64,${base64(CARD)}` } }]),
	],
	["a data address without base64", user([{ image_url: { url: "data:text/plain,ada%40corp.example" } }])],
	[
		"a data address with spaces",
		user([
			{
				image_url: {
					url: `data:text/plain; charset=utf-8; base64, ${base64(CARD).replace(/(.{4})/g, "$1 ")}`,
				},
			},
		]),
	],
	["a data address with other characters", user([{ image_url: { url: `data:;base64,.${base64(CARD)}!` } }])],
	["a data address in capitals", user([{ image_url: { url: `DATA:IMAGE/PNG;BASE64,${base64(CARD)}` } }])],
	["a data address in a text", user(`See ![x](data:text/plain;base64,${base64(`Card ${CARD}`)}) here`)],
	["base64 in file_data", user([{ type: "file", file: { file_data: base64(`card: ${CARD}`) } }])],
	[
		"base64 of the URL alphabet",
		json({ data: base64(`>>>???${EMAIL}`).replaceAll("+", "-").replaceAll("/", "_") }),
	],
	["base64 without padding", json({ image: base64(EMAIL).replaceAll("=", "") })],
	["base64 of base64", json({ image: base64(base64(EMAIL)) })],
	["a list of bytes as an image", json({ image: [...bytesOf(EMAIL)] })],
	["an image with a text behind its signature", json({ image: base64(`\x89PNG\r\n\x1a\n${CARD}`) })],
	["JSON in a string", json({ arguments: '{"n":"4111\\u00201111 1111 1111"}' })],
	["wide digits", user("４１１１ １１１１ １１１１ １１１１")],
	["invisible characters", user("4111\u200b1111\u200b1111\u200b1111")],
	["other dashes and spaces", user("4111\u20111111\u00a01111\u20131111")],
	[
		"the first of two equal keys",
		{
			...json({ prompt: "Hi" }),
			passed: { headers: new Headers(), body: bytesOf(`{"prompt":"${CARD}","prompt":"Hi"}`) },
		},
	],
	[
		"an escape in the first of two equal keys",
		{
			...json({ prompt: "Hi" }),
			passed: { headers: new Headers(), body: '{"prompt":"ada\\u0040corp.example","prompt":"Hi"}' },
		},
	],
	["an invalid byte", raw(latin1(`{"prompt":"${CARD}"}\xff`), "application/octet-stream")],
	["an invalid byte in the number", raw(latin1(`n=4111\xff111111111111`), "text/plain")],
	[
		"many invalid bytes",
		raw(latin1(`${"\xff\xfe\xfd".repeat(50)}Card: ${CARD}`), "application/octet-stream"),
	],
	["UTF-16", raw(latin1(`\xff\xfe${[...EMAIL].join("\0")}\0`), "text/plain")],
	["a type that names UTF-16", raw(`Card ${CARD}`, "text/plain; charset=utf-16le")],
	["UTF-16 by its type", raw(latin1(`${[...EMAIL].join("\0")}\0`), "text/plain; charset=utf-16le")],
	["UTF-16 without a mark", raw(latin1(`${[...EMAIL].join("\0")}\0`), "text/plain")],
	["text that names an image", raw(`Card ${CARD}`, "image/png")],
	["text that names audio", raw(EMAIL, "audio/wav")],
	["a body of lines", raw(`{"a":1}\n{"b":"ada\\u0040corp.example"}\n`, "application/jsonl")],
	["a field of a form", multipart(`content-disposition: form-data; name="prompt"\r\n\r\n${CARD}`)],
	["the name of a field", multipart(`content-disposition: form-data; name="${CARD}"\r\n\r\nHi`)],
	["the field model of a form", multipart(`content-disposition: form-data; name="model"\r\n\r\n${EMAIL}`)],
	[
		"the name of a file",
		multipart(`content-disposition: form-data; name="file"; filename="${EMAIL}.txt"\r\n\r\nHi`),
	],
	[
		"a file that names an image",
		multipart(
			`content-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n${CARD}`,
		),
	],
	["a header of a part", multipart(`content-disposition: form-data; name="a"\r\nx-note: ${EMAIL}\r\n\r\nHi`)],
	["text before a form", raw(`${CARD}\r\n--x--\r\n`, "multipart/form-data; boundary=x")],
	["a form that is broken", raw(`--x\r\nprompt: ${CARD}`, "multipart/form-data; boundary=x")],
	["an encoded form", raw("prompt=ada%40corp.example", "application/x-www-form-urlencoded")],
	["the query", { endpoint: `v1/models?note=${encodeURIComponent(EMAIL)}` }],
	["the query with plus signs", { endpoint: "v1/models?card=4111+1111+1111+1111" }],
	["the query encoded twice", { endpoint: "v1/models?u=ada%2540corp.example" }],
	["the path", { endpoint: `v1/files/${CARD.replaceAll(" ", "%20")}` }],
	["a path with an invalid escape", { endpoint: `v1/files/%zz/ada%40corp.example/%ff` }],
	["a GET", { ...json({}), endpoint: `v1/files/${DIGITS}`, passed: { headers: new Headers() } }],
	["a header", withHeaders({ "x-note": CARD })],
	["an encoded header", withHeaders({ "x-user": "ada%40corp.example" })],
	["the user agent", withHeaders({ "user-agent": `app (${EMAIL})` })],
	[
		"a parameter beside audio",
		{ body: { ...ofBytes(latin1("RIFF\xff\xff"), "audio/wav"), parameters: { query: { prompt: CARD } } } },
	],
];

/** Signatures and noise, like the bytes of media. */
const noise = (head: string, length = 20_000): Uint8Array<ArrayBuffer> => {
	let state = 7;
	const tail = Array.from({ length }, () => {
		state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
		return String.fromCharCode((state >>> 16) & 0xff);
	});
	return latin1(head + tail.join(""));
};
const PNG = noise("\x89PNG\r\n\x1a\n");

const ORDINARY: readonly (readonly [string, Sent])[] = [
	[
		"a chat",
		json({
			model: MODEL,
			messages: [
				{ role: "system", content: "Be brief" },
				{ role: "user", content: "@app.get('/') in Python?" },
			],
			temperature: 0.7,
			seed: 42,
		}),
	],
	["tokens", json({ input: [[9906, 1917, 0, 791, 4062]] })],
	["an embedding", json({ input: [0.123456789, -0.987654321, 1e-7, 1e300] })],
	["an image", user([{ image_url: { url: `data:image/png;base64,${PNG.toBase64()}` } }])],
	["an image as bytes", json({ image: [...PNG] })],
	["an image as a body", raw(PNG, "image/png")],
	["an image of the set binary", raw(PNG, "image/png; charset=binary")],
	[
		"long texts of one kind",
		json(["A", "data:", "%ff ", "data:a,", "\\u0041"].map((text) => text.repeat(100_000))),
	],
	["8 MB of one letter", user("A".repeat(8_000_000))],
	["a long text", user("The quick brown fox jumps over the lazy dog. ".repeat(2_000))],
	["audio as a body", raw(noise("RIFF"), "application/octet-stream")],
	[
		"a form with a file",
		multipart(
			'content-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nHi',
			'content-disposition: form-data; name="model"\r\n\r\nwhisper-1',
		),
	],
	[
		"a call of a tool",
		json({
			messages: [
				{
					role: "assistant",
					tool_calls: [{ id: "call_9sX1", function: { name: "f", arguments: '{"a":1}' } }],
				},
				{ role: "tool", tool_call_id: "call_9sX1", content: "21 degrees" },
			],
		}),
	],
	["a time in milliseconds", json({ at: 1_764_185_000_008, times: [1_764_185_000_008] })],
	[
		"Google's key in the query",
		{ provider: "google-ai-studio", endpoint: `v1beta/models?key=AIza${"a".repeat(35)}` },
	],
	[
		"ids of a trace",
		withHeaders({ "x-datadog-trace-id": DIGITS, traceparent: `00-${DIGITS}${DIGITS}-${DIGITS}-01` }),
	],
	["headers of an SDK", withHeaders({ "user-agent": "OpenAI/JS 6.1.0", "x-stainless-retry-count": "0" })],
	["no body", json(null)],
];

describe("data-loss prevention of requests", () => {
	it.each(FORMS)("blocks %s", async (_, sent) => {
		expect(await send("BLOCK", sent)).toEqual({ status: 2029, calls: 0, isFound: true });
		expect(await send("FLAG", sent)).toEqual({ status: 200, calls: 1, isFound: true });
	});

	it.each(ORDINARY)("passes %s", async (_, sent) => {
		expect(await send("BLOCK", sent)).toEqual({ status: 200, calls: 1, isFound: false });
	});

	it.each([
		["a form that is broken", raw("--x\r\nHi", "multipart/form-data; boundary=x")],
		["a form without a boundary", raw("Hi", "multipart/form-data")],
		["an unknown character set", raw("Hi", "text/plain; charset=ebcdic-9")],
	])("blocks what it cannot read, and does not flag it: %s", async (_, sent) => {
		expect(await send("BLOCK", sent)).toEqual({ status: 2029, calls: 0, isFound: false });
		expect(await send("FLAG", sent)).toEqual({ status: 200, calls: 1, isFound: false });
	});
});
