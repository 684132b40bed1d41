/** Data in the requests of agents, tools, batches and files, in other encodings, and in the forms of several APIs. */
import { describe, expect, it } from "vitest";
import {
	CARD,
	DIGITS,
	EMAIL,
	json,
	judge,
	latin1,
	MODEL,
	raw,
	type Sent,
	user,
	withHeaders,
} from "./judge.ts";

const KEY = "AKIAIOSFODNN7EXAMPLE";
const utf16be = (text: string) => [...text].map((character) => `\0${character}`).join("");
const responses = (...input: object[]): Sent => json({ model: MODEL, input });
const tool = (fields: object): Sent =>
	json({ model: MODEL, messages: [], tools: [{ type: "function", function: { name: "f", ...fields } }] });
const form = (part: string, boundary = "x"): Sent =>
	raw(`--${boundary}\r\n${part}\r\n--${boundary}--\r\n`, `multipart/form-data; boundary=${boundary}`);
const header = (name: string, value: string): Sent => withHeaders({ [name]: value });

async function send(sent: Sent) {
	const profiles = ["credit_card", "email", "api_key", "us_ssn", "iban"];
	const { calls, ...result } = await judge({ action: "BLOCK", profiles }, sent);
	return { code: "code" in result ? result.code : undefined, calls };
}

const STOPPED: readonly (readonly [string, Sent])[] = [
	["the description of a tool", tool({ description: `Pays with ${CARD}` })],
	["an enumeration of a tool", tool({ parameters: { properties: { to: { enum: [EMAIL] } } } })],
	["the default of a parameter", tool({ parameters: { properties: { card: { default: Number(DIGITS) } } } })],
	["the pattern of a parameter", tool({ parameters: { properties: { to: { pattern: `^${EMAIL}$` } } } })],
	["the name of a definition", tool({ parameters: { $defs: { [EMAIL]: {} } } })],
	["the name of a tool", tool({ name: KEY })],
	[
		"a grammar of a custom tool",
		json({
			tools: [{ type: "custom", custom: { format: { grammar: { definition: `start: "${EMAIL}"` } } } }],
		}),
	],
	[
		"the arguments of a call",
		responses({ type: "function_call", call_id: "c", name: "f", arguments: JSON.stringify({ card: CARD }) }),
	],
	[
		"the summary of a compacted conversation",
		responses({
			type: "compaction",
			encrypted_content: `ganglion-summary-1.${Buffer.from(`${"The boat is blue. ".repeat(99)}${CARD}${" It is long.".repeat(99)}`).toString("base64url")}`,
		}),
	],
	[
		"JSON inside of the JSON of arguments",
		responses({
			type: "function_call",
			arguments: JSON.stringify({
				body: JSON.stringify({ to: JSON.stringify({ a: "ada\u0040corp.example" }) }),
			}),
		}),
	],
	[
		"escapes inside of the JSON of arguments",
		responses({ type: "function_call", arguments: '{"to":"\\u0061da\\u0040corp.example"}' }),
	],
	[
		"broken JSON of arguments with escapes",
		responses({ type: "function_call", arguments: '{"to":"ada\\u0040corp.example' }),
	],
	["the result of a tool", responses({ type: "function_call_output", call_id: "c", output: CARD })],
	[
		"the result of a tool as parts",
		responses({ type: "function_call_output", output: [{ type: "input_text", text: EMAIL }] }),
	],
	[
		"the result of a tool of Anthropic",
		json({
			messages: [
				{
					role: "user",
					content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: CARD }] }],
				},
			],
		}),
	],
	[
		"the input of a tool of Anthropic",
		json({
			messages: [
				{
					role: "assistant",
					content: [{ type: "tool_use", id: "t", name: "f", input: { deep: { card: DIGITS } } }],
				},
			],
		}),
	],
	[
		"a function's response of Gemini",
		json({ contents: [{ parts: [{ functionResponse: { name: "f", response: { card: CARD } } }] }] }),
	],
	[
		"inline data of Gemini",
		json({ contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: btoa(`note ${EMAIL}`) } }] }] }),
	],
	[
		"the system text of Anthropic",
		json({ system: [{ type: "text", text: EMAIL, cache_control: { type: "ephemeral" } }] }),
	],
	["the system instruction of Gemini", json({ systemInstruction: { parts: [{ text: EMAIL }] } })],
	[
		"the title of a document",
		user([
			{ type: "document", title: EMAIL, source: { type: "text", media_type: "text/plain", data: "Hi" } },
		]),
	],
	[
		"the context of a document",
		user([{ type: "document", context: CARD, source: { type: "text", data: "Hi" } }]),
	],
	[
		"the text of a document",
		user([{ type: "document", source: { type: "text", media_type: "text/plain", data: `Card ${CARD}` } }]),
	],
	["the name of a file", user([{ type: "file", file: { filename: `${EMAIL}.pdf`, file_id: "file-1" } }])],
	["the id of a file", user([{ type: "input_file", file_id: EMAIL }])],
	["a prompt's variable", json({ prompt: { id: "pmpt_1", variables: { card: CARD } } })],
	[
		"a prompt's variable as a part",
		json({ prompt: { id: "pmpt_1", variables: { who: { type: "input_text", text: EMAIL } } } }),
	],
	["previous_response_id", json({ previous_response_id: EMAIL, input: "Hi" })],
	["the conversation", json({ conversation: { id: DIGITS }, input: "Hi" })],
	["metadata", json({ metadata: { ticket: CARD }, input: "Hi" })],
	["the user", json({ user: EMAIL, input: "Hi" })],
	["the safety identifier", json({ safety_identifier: EMAIL, input: "Hi" })],
	["the key of the prompt cache", json({ prompt_cache_key: EMAIL, input: "Hi" })],
	["a stop text", json({ stop: [CARD], messages: [] })],
	["a logit bias", json({ logit_bias: { [DIGITS]: 1 }, messages: [] })],
	["a prediction", json({ prediction: { type: "content", content: [{ type: "text", text: EMAIL }] } })],
	[
		"the schema of an answer",
		json({ response_format: { type: "json_schema", json_schema: { schema: { const: EMAIL } } } }),
	],
	["a search's place", json({ web_search_options: { user_location: { approximate: { city: EMAIL } } } })],
	["a search's domains", json({ tools: [{ type: "web_search", filters: { allowed_domains: [EMAIL] } }] })],
	[
		"the address of an MCP server",
		json({ tools: [{ type: "mcp", server_url: "https://u:p@x.example/?mail=ada%40corp.example" }] }),
	],
	["the headers of an MCP server", json({ tools: [{ type: "mcp", headers: { "x-user": EMAIL } }] })],
	[
		"a summary of reasoning",
		responses({ type: "reasoning", summary: [{ type: "summary_text", text: EMAIL }] }),
	],
	[
		"a patch",
		responses({ type: "apply_patch_call", operation: { type: "update_file", diff: `+mail = "${EMAIL}"` } }),
	],
	["the command of a shell", responses({ type: "local_shell_call", action: { command: ["echo", EMAIL] } })],
	["the environment of a shell", responses({ type: "local_shell_call", action: { env: { MAIL: EMAIL } } })],
	["an item of a batch", json({ requests: [{ custom_id: EMAIL, params: { messages: [] } }] })],
	[
		"the body of an item of a batch",
		json({ requests: [{ custom_id: "1", params: { messages: [{ role: "user", content: CARD }] } }] }),
	],
	[
		"a file of a batch",
		raw(
			`{"custom_id":"1","body":{"input":"Hi"}}\n{"custom_id":"2","body":{"input":"${CARD}"}}\n`,
			"application/jsonl",
		),
	],
	["a file of a batch with CRLF", raw(`{"a":1}\r\n{"b":"ada\\u0040corp.example"}\r\n`, "application/jsonl")],
	[
		"a list of JSON with a mark",
		raw(latin1('\xef\xbb\xbf{"b":"ada\\u0040corp.example"}'), "application/json"),
	],
	["full-width digits in a tool", tool({ description: "４１１１１１１１１１１１１１１１" })],
	["Arabic digits", user("٤١١١ ١١١١ ١١١١ ١١١١")],
	["Devanagari digits", user("४१११ ११११ ११११ ११११")],
	["mathematical digits", user("𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏")],
	["digits in circles", user("④①①① ①①①① ①①①① ①①①①")],
	["a full-width at sign", user("ada＠corp.example")],
	["zero-width joiners", user("ada\u200d@\u2060corp\ufeff.example")],
	["soft hyphens", user("4111\u00ad1111\u00ad1111\u00ad1111")],
	["variation selectors", user("4\ufe0f1\ufe0f1\ufe0f1\ufe0f1111 1111 1111")],
	["combining marks", user("4\u03001\u03001\u03001\u0300 1111 1111 1111")],
	[
		"characters of tags",
		user([...EMAIL].map((character) => String.fromCodePoint(0xe0000 + character.charCodeAt(0))).join("")),
	],
	["marks of direction", user("\u202e4111\u202c 1111 1111 1111")],
	["thin spaces", user("4111\u20091111\u202f1111\u30001111")],
	["a tab between", user("4111\t1111\t1111\t1111")],
	["dots between", user("4111.1111.1111.1111")],
	["two spaces between", user("4111  1111  1111  1111")],
	["a slash between", user("4111/1111/1111/1111")],
	["an escaped entity", user("ada&#64;corp.example")],
	["a hexadecimal entity", user("ada&#x40;corp.example")],
	["a named entity", user("ada&commat;corp.example")],
	["\\x escapes", user("ada\\x40corp.example")],
	["\\u{} escapes", user("ada\\u{40}corp.example")],
	["percent-encoded in a text", user("mail=ada%40corp.example")],
	["percent-encoded UTF-8 of wide characters", user("ada%EF%BC%A0corp.example")],
	["base64 in a sentence", user(`Decode ${btoa(`The card is ${CARD}`)} please`)],
	["base64 after other base64", user(`Compare ${btoa("All work and no play")} and ${btoa(`card ${CARD}`)}`)],
	["base64 in base64", user(`Decode ${btoa(`Decode ${btoa(`card ${CARD}`)} twice`)} please`)],
	["base64 with line breaks", user(btoa(`card ${CARD} `.repeat(3)).replace(/(.{20})/g, "$1\n"))],
	[
		"base64url in a text",
		user(btoa(`>>>???${EMAIL}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")),
	],
	["a data address with parameters", user(`data:text/plain;charset=utf-8;name=a;base64,${btoa(CARD)}`)],
	[
		"a data address of percent-encoded base64",
		user(`data:;base64,${encodeURIComponent(btoa(`?>${EMAIL}`))}`),
	],
	["UTF-16BE with a mark", raw(latin1(`\xfe\xff${utf16be(EMAIL)}`), "text/plain")],
	["UTF-16BE without a mark", raw(latin1(utf16be(EMAIL)), "application/json")],
	["UTF-32", raw(latin1([...EMAIL].map((character) => `${character}\0\0\0`).join("")), "text/plain")],
	["latin-1 by its type", raw(latin1(`\xe4\xf6 ${EMAIL}`), "text/plain; charset=iso-8859-1")],
	["a charset in capitals and quotes", raw(latin1(utf16be(EMAIL)), 'text/plain; CHARSET="UTF-16BE"')],
	["the boundary of a form", form('content-disposition: form-data; name="a"\r\n\r\nHi', DIGITS)],
	[
		"the type of a part",
		form(`content-disposition: form-data; name="a"\r\ncontent-type: text/x-${DIGITS}\r\n\r\nHi`),
	],
	[
		"an encoded file name",
		form("content-disposition: form-data; name=\"file\"; filename*=UTF-8''ada%40corp.example.txt\r\n\r\nHi"),
	],
	[
		"a nested form",
		form(
			`content-disposition: form-data; name="a"; filename="a"\r\ncontent-type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\r\n${CARD}\r\n--y--`,
		),
	],
	["base64 in a field of a form", form(`content-disposition: form-data; name="image"\r\n\r\n${btoa(EMAIL)}`)],
	[
		"text after a form",
		raw(
			`--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nHi\r\n--x--\r\n${CARD}`,
			"multipart/form-data; boundary=x",
		),
	],
	["a plus in an encoded form", raw("card=4111+1111+1111+1111", "application/x-www-form-urlencoded")],
	["a semicolon in the query", { endpoint: `v1/models;card=${DIGITS}` }],
	["the fragment of a path", { endpoint: `v1/models#${EMAIL}` }],
	["a header of organization", header("openai-organization", EMAIL)],
	["a header of betas", header("anthropic-beta", `a,${EMAIL}`)],
	["a referer", header("referer", "https://app.example/?u=ada%40corp.example")],
	["base64 in a header", header("x-context", btoa(`card ${CARD}`))],
	["a fraction", json({ card: 4111111111111111.5 })],
	["a negative number", json({ card: -4111111111111111 })],
	["a number of security", user("078-05-1120")],
	[
		"a bank account in two parts",
		user([
			{ type: "text", text: "DE89 3704 0044" },
			{ type: "text", text: " 0532 0130 00" },
		]),
	],
];

describe("data-loss prevention stops", () => {
	it.each(STOPPED)("%s", async (_, sent) => {
		expect(await send(sent)).toEqual({ code: 2029, calls: 0 });
	});
});

/** `docs/gateways.md` names them. */
const NOT_JUDGED: readonly (readonly [string, Sent])[] = [
	["quoted-printable", user("ada=40corp.example")],
	["a number over several lines", user("4111\n1111\n1111\n1111")],
	["a number with an exponent in a text", json({ card: "4.111111111111111e15" })],
];

describe("data-loss prevention does not judge", () => {
	it.each(NOT_JUDGED)("%s", async (_, sent) => {
		expect(await send(sent)).toEqual({ code: undefined, calls: 1 });
	});
});
