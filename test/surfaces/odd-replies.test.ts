/**
 * Replies that engines send in other forms than OpenAI's, whole and streamed, as every interface shows them. The expected answers
 * are what a client needs: the text, the reasoning, the calls with their arguments, and why the answer ended.
 */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";
import { ODD_FAILURES, ODD_STREAMS, ODD_VALUES, type OddReply } from "./odd-replies/cases.ts";
import {
	callersOf,
	expectedAnswers,
	READERS,
	readAnswers,
	SURFACES,
	type Surface,
} from "./odd-replies/readers.ts";

const MODEL = "acme/llama-4";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	// One attempt: a second one would wait, and the engine's answer would be the same.
	ROUTES: {
		[MODEL]: { targets: [{ backend: "engine", model: "llama-4-scout" }], retries: { attempts: 1 } },
	},
	MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
};

const host: { reply: Pick<OddReply, "body" | "type"> } = { reply: { body: "", type: "" } };
const { fetch } = upstream(
	() => new Response(host.reply.body, { headers: { "content-type": host.reply.type } }),
);
/** One gateway for all cases: to make it takes longer than a request. */
const callers = callersOf({ vars: VARS, fetch });

const named = <Case extends { name: string }>(cases: readonly Case[]) =>
	cases.map((one) => [one.name, one] as const);

/** What each interface shows, for a request of a value and for one of a stream. */
async function expectAnswers(reply: OddReply): Promise<void> {
	host.reply = reply;
	expect(await readAnswers(callers.send, MODEL)).toEqual(expectedAnswers(reply.answer));
}

const DIALECTS: ReadonlySet<Surface> = new Set(["Messages", "Responses", "Gemini"]);

describe("on every interface", () => {
	it.each(named(ODD_STREAMS))("a stream: %s", (_, reply) => expectAnswers(reply));
	it.each(named(ODD_VALUES))("a value: %s", (_, reply) => expectAnswers(reply));
	it.each(named(ODD_FAILURES))(
		"a failure: %s",
		async (_, { status, statusOfDialects = status, sentence, ...reply }) => {
			host.reply = reply;
			const isStream = reply.type === "text/event-stream";
			const results = await Promise.all(
				SURFACES.map(async (surface) => {
					const response = await callers.send(surface, MODEL, isStream);
					return [surface, response.status, (await response.text()).includes(sentence)];
				}),
			);
			expect(results).toEqual(
				SURFACES.map((surface) => [surface, DIALECTS.has(surface) ? statusOfDialects : status, true]),
			);
		},
	);
});

const answerOf = (surface: Surface, stream: boolean, reply: OddReply): Promise<Response> => {
	host.reply = reply;
	return callers.send(surface, MODEL, stream);
};

describe("a call that the limit cut off, which the engine calls complete", () => {
	const called = (text: string) => ({
		index: 0,
		id: "a",
		type: "function",
		function: { name: "get_weather", arguments: text },
	});
	const replyOf = (text: string, stream: boolean): OddReply => {
		const field = stream ? "delta" : "message";
		const choice = { index: 0, [field]: { role: "assistant", tool_calls: [called(text)] } };
		const value = JSON.stringify({ choices: [{ ...choice, finish_reason: "tool_calls" }] });
		return {
			name: "",
			body: stream ? `data: ${value}\n\ndata: [DONE]\n\n` : value,
			type: stream ? "text/event-stream" : "application/json",
			answer: {},
		};
	};
	const cases = ['{"city":', '{"city":"Os', '{"city":"Os\\"', '{"list":[{"a":1}'];

	it.each(cases.flatMap((text) => [false, true].map((stream) => [text, stream] as const)))(
		"has the reason of a limit: %s, stream: %s",
		async (text, stream) => {
			const reply = replyOf(text, stream);
			expect(await (await answerOf("chat", stream, reply)).text()).toContain('"finish_reason":"length"');
			expect(await (await answerOf("Messages", stream, reply)).text()).toContain(
				'"stop_reason":"max_tokens"',
			);
		},
	);

	it.each(["city=Oslo", '{"city":"Oslo"}}', "{}"])("keeps the reason of a call with %s", async (text) => {
		const answer = await (await answerOf("chat", true, replyOf(text, true))).text();
		expect(answer).toContain('"finish_reason":"tool_calls"');
	});
});

describe("a stream that can pass unchanged", () => {
	const body = (tools: boolean) => ({
		...READERS.chat.request("acme/llama-4", true).body,
		...(!tools && { tools: undefined }),
		stream_options: { include_usage: true },
	});
	const chunk = (choice: object, fields: object = {}) =>
		`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "acme/llama-4", choices: [{ index: 0, finish_reason: null, ...choice }], ...fields })}\n\n`;
	const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };
	const END = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "acme/llama-4", choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
	const call = (index: number, id: string) =>
		chunk({
			delta: {
				role: "assistant",
				tool_calls: [
					{ index, id, type: "function", function: { name: "get_weather", arguments: `{"city":"${id}"}` } },
				],
			},
		});
	const finish = (finish_reason: string) => chunk({ delta: {}, finish_reason });
	const TEXT = chunk({ delta: { role: "assistant", content: "Hello" } }) + finish("stop") + END;
	const ONE_CALL = call(0, "Oslo") + finish("tool_calls") + END;
	const TWO_CALLS = call(0, "Oslo") + call(1, "Rome") + finish("tool_calls") + END;
	const MERGED = call(0, "Oslo") + call(0, "Rome") + finish("stop") + END;

	/** A gateway whose engine sends these streams in turn. Returns the answers. */
	async function answers(streams: readonly string[], tools = true): Promise<string[]> {
		const bodies = [...streams];
		const { fetch } = upstream(() => {
			const bytes = new TextEncoder().encode(bodies.shift());
			// A stream passes if its first piece needs no change: that piece is one event here.
			const first = bytes.indexOf(10) + 2;
			const source = new ReadableStream({
				type: "bytes",
				start(controller) {
					controller.enqueue(bytes.slice(0, first));
				},
				pull(controller) {
					controller.enqueue(bytes.slice(first));
					controller.close();
				},
			});
			return new Response(source, { headers: { "content-type": "text/event-stream" } });
		});
		const vars = { ...VARS, ROUTES: { [MODEL]: [{ backend: "engine", model: MODEL }] } };
		const { post } = testGateway({ vars, fetch });
		const texts: string[] = [];
		for (const _ of streams) texts.push(await (await post("/v1/chat/completions", body(tools))).text());
		return texts;
	}
	const both = [
		["get_weather", { city: "Oslo" }],
		["get_weather", { city: "Rome" }],
	];

	it("does not pass after streams without calls, or with one call, if tools are offered", async () => {
		const [, , merged = ""] = await answers([TEXT, ONE_CALL, MERGED]);
		expect(READERS.chat.read(merged, true)).toMatchObject({ calls: both, finish: "tool_calls" });
	});

	it("passes after a stream with several calls, until a passing stream needs a change", async () => {
		const [, passing, merged, repaired = ""] = await answers([TWO_CALLS, TWO_CALLS, MERGED, MERGED]);
		expect(passing).toBe(TWO_CALLS);
		expect(merged).toBe(MERGED);
		expect(READERS.chat.read(repaired, true)).toMatchObject({ calls: both, finish: "tool_calls" });
	});

	it("passes without tools after one without a change", async () => {
		expect(await answers([TEXT, TEXT], false)).toEqual([TEXT, TEXT]);
	});
});

describe("a model that the first engine does not have", () => {
	it("is served by the next one: 400 of llama.cpp's router", async () => {
		const { fetch, requests } = upstream((request) =>
			request.url.startsWith("http://router/")
				? Response.json(
						{
							error: { code: 400, message: "model 'llama-4-scout' not found", type: "invalid_request_error" },
						},
						{ status: 400 },
					)
				: new Response(ODD_VALUES[0]?.body, { headers: { "content-type": "application/json" } }),
		);
		const vars = {
			BACKENDS: {
				router: { kind: "openai", url: "http://router/v1" },
				engine: { kind: "openai", url: "http://engine/v1" },
			},
			ROUTES: { [MODEL]: ["router", "engine"].map((backend) => ({ backend, model: "llama-4-scout" })) },
			MODELS: VARS.MODELS,
		};
		const response = await testGateway({ vars, fetch }).post("/v1/chat/completions", {
			model: MODEL,
			messages: [{ role: "user", content: "Hi" }],
		});
		expect(response.status).toBe(200);
		expect(requests.map(({ url }) => new URL(url).host)).toEqual(["router", "engine"]);
	});
});
