/** Which streams of a route with `passthrough` pass unchanged, and which are translated. */
import { describe, expect, it } from "vitest";
import llamaCppSse from "../fixtures/openai/llama-cpp/chat.sse?raw";
import ollamaSse from "../fixtures/openai/ollama/chat.sse?raw";
import openAiSse from "../fixtures/openai/openai/chat.sse?raw";
import { DONE, delta, finish, testGateway, upstream, usage } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const GPT_OSS = "@cf/openai/gpt-oss-20b";
const STREAM = [delta("Hel"), delta("lo"), finish(), usage(), DONE];
const VARS = {
	BACKENDS: {
		a: { kind: "openai", url: "http://a/v1" },
		b: { kind: "openai", url: "http://b/v1" },
	},
	ROUTES: { "*": { targets: [{ backend: "a" }], passthrough: true } },
};
const messages = [{ role: "user", content: "Hi" }];

/** A stream of bytes, like a body from the network. The runtime cannot pipe a stream made from text in the same Worker. */
const events = (...frames: string[]): Response => {
	const body = new ReadableStream({
		type: "bytes",
		start(controller) {
			for (const frame of frames) controller.enqueue(new TextEncoder().encode(frame));
			controller.close();
		},
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

async function streamed(path: string, body: object): Promise<string> {
	const { fetch } = upstream(() => events(...STREAM));
	const response = await testGateway({ vars: VARS, fetch }).post(path, { stream: true, ...body });
	expect(response.status).toBe(200);
	return response.text();
}

const tool = { type: "function", function: { name: "look_up", parameters: { type: "object" } } };

describe("a route with passthrough", () => {
	it.each([
		["without usage", {}],
		["with usage", { stream_options: { include_usage: true } }],
		["with tools", { tools: [tool] }],
		["in JSON", { response_format: { type: "json_object" } }],
	])("passes streams unchanged on OpenAI's chat route: %s", async (_, extra) => {
		const text = await streamed("/v1/chat/completions", { model: LLAMA, messages, ...extra });
		expect(text).toBe(STREAM.join(""));
	});

	it("passes streams of gpt-oss unchanged, unless its text must be searched for tool calls", async () => {
		const path = "/v1/chat/completions";
		const offered = { model: GPT_OSS, messages, tools: [tool] };
		expect(await streamed(path, offered)).toBe(STREAM.join(""));
		const mended = await streamed(path, { ...offered, tool_choice: "required" });
		expect(mended).toContain(`"model":"${GPT_OSS}"`);
		expect(mended).not.toContain('"prompt_tokens"');
	});

	it("translates streams for callers who send `functions`", async () => {
		const functions = [{ name: "look_up", parameters: { type: "object" } }];
		const text = await streamed("/v1/chat/completions", { model: LLAMA, messages, functions });
		expect(text).toContain(`"model":"${LLAMA}"`);
		expect(text).not.toContain('"prompt_tokens"');
	});

	it("translates streams for other dialects", async () => {
		const native = await streamed(`/run/${LLAMA}`, { messages });
		expect(native).toContain('data: {"response":"Hel"');
		const created = await streamed("/v1/responses", { model: LLAMA, input: "Hi" });
		expect(created).toContain("event: response.created");
		const message = await streamed("/v1/messages", { model: LLAMA, messages, max_tokens: 9 });
		expect(message).toContain("event: message_start");
		const completed = await streamed("/v1/completions", { model: LLAMA, prompt: "Hi" });
		expect(completed).toContain('"object":"text_completion"');
	});

	it("translates a complete answer to a request for a stream", async () => {
		const complete = {
			id: "c",
			object: "chat.completion",
			created: 1,
			model: "engine-model",
			choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
		};
		const { fetch } = upstream(() => Response.json(complete));
		const response = await testGateway({ vars: VARS, fetch }).post("/v1/chat/completions", {
			model: LLAMA,
			messages,
			stream: true,
		});
		const text = await response.text();
		expect(text).toContain(`"model":"${LLAMA}"`);
		expect(text.endsWith(DONE)).toBe(true);
	});

	it("records the failure of an engine that interrupts its streams", async () => {
		const targets = [{ backend: "a" }, { backend: "b" }];
		const vars = { ...VARS, ROUTES: { "*": { targets, passthrough: true } } };
		const { fetch, requests } = upstream(({ url }) =>
			url.startsWith("http://a/") ? events(delta("Hel")) : events(...STREAM),
		);
		const { post } = testGateway({ vars, fetch });
		const send = async () =>
			(await post("/v1/chat/completions", { model: LLAMA, messages, stream: true })).text();
		for (let turn = 0; turn < 20 && !(await send()).endsWith(DONE); turn++);
		expect(requests.at(-1)?.url).toContain("http://b/");
	});
});

describe("a route without the setting", () => {
	const MODEL = "acme/chat";
	const counted = { stream_options: { include_usage: true } };
	const chunk = (choices: unknown[], extra: object = {}, model = MODEL): string =>
		`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model, choices, ...extra })}\n\n`;
	const text = (content: string, model?: string) =>
		chunk([{ index: 0, delta: { role: "assistant", content }, finish_reason: null }], {}, model);
	const call = chunk([
		{ index: 0, delta: { tool_calls: [{ index: 0, id: "t", function: { name: "f", arguments: "{}" } }] } },
	]);
	const end = chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
	const used = chunk([], { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
	const GOOD = [text("Hel"), text("lo"), end, used, DONE];
	/** The gateway rewrites the name, unless it does not read the stream. */
	const RENAMED = [text("Hel", "other"), end, used, DONE];
	const WITH_CALL = [call, end, used, DONE];

	/** Sends one request for each stream of the engine. Returns the texts that the caller received. */
	async function textsFor(
		streams: string[][],
		{
			request = {},
			route = {},
			vars = {},
			headers = {},
		}: {
			request?: object;
			route?: object;
			vars?: object;
			headers?: Record<string, string>;
		} = {},
	) {
		let next = 0;
		const { fetch } = upstream(() => events(...(streams[next++] ?? [])));
		const ROUTES = { [MODEL]: { targets: [{ backend: "a" }], ...route } };
		const gateway = testGateway({ vars: { ...VARS, ROUTES, ...vars }, fetch });
		const texts: string[] = [];
		for (const _ of streams) {
			const body = { model: MODEL, messages, stream: true, ...counted, ...request };
			const response = await gateway.post("/v1/chat/completions", body, { headers });
			texts.push(await response.text());
		}
		return texts;
	}

	it("passes a stream unread after one that needed no change", async () => {
		expect(await textsFor([GOOD, RENAMED])).toEqual([GOOD.join(""), RENAMED.join("")]);
	});

	/** The usage of engines and hosts, as each sends it. */
	const USAGES: Record<string, { usage: object; others?: object }> = {
		"vLLM without details": {
			usage: { prompt_tokens: 30, total_tokens: 40, completion_tokens: 10, prompt_tokens_details: null },
		},
		"vLLM with details": {
			usage: {
				prompt_tokens: 30,
				total_tokens: 40,
				completion_tokens: 10,
				prompt_tokens_details: { cached_tokens: 16 },
			},
		},
		"SGLang with its cache report and reasoning": {
			usage: {
				prompt_tokens: 30,
				total_tokens: 40,
				completion_tokens: 10,
				prompt_tokens_details: { cached_tokens: 16 },
				reasoning_tokens: 4,
			},
		},
		"llama.cpp": {
			usage: {
				completion_tokens: 10,
				prompt_tokens: 30,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: 0 },
			},
			others: { timings: { cache_n: 0, prompt_n: 30, prompt_ms: 8.2, predicted_n: 10, predicted_ms: 91.5 } },
		},
		OpenAI: {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: 16, audio_tokens: 0, cache_write_tokens: 8 },
				completion_tokens_details: {
					reasoning_tokens: 4,
					audio_tokens: 0,
					accepted_prediction_tokens: 0,
					rejected_prediction_tokens: 0,
				},
			},
			others: { service_tier: "default", system_fingerprint: "fp_1" },
		},
		"OpenAI without a cache or reasoning": {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
				completion_tokens_details: { reasoning_tokens: 0 },
			},
		},
		DeepSeek: {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: 16 },
				prompt_cache_hit_tokens: 16,
				prompt_cache_miss_tokens: 14,
				completion_tokens_details: { reasoning_tokens: 4 },
			},
		},
		"OpenRouter with its cost": {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				cost: 0.00014,
				is_byok: false,
				prompt_tokens_details: { cached_tokens: 16, cache_write_tokens: 0, audio_tokens: 0 },
				cost_details: { upstream_inference_cost: null },
				completion_tokens_details: { reasoning_tokens: 4, image_tokens: 0 },
			},
		},
		"Anthropic's host of OpenAI's API": {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: 16, cache_creation_tokens: 8 },
				cache_read_input_tokens: 16,
				cache_creation_input_tokens: 8,
			},
		},
		"an engine whose details have counts of null": {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_details: { cached_tokens: null, audio_tokens: null },
				completion_tokens_details: null,
			},
		},
		"an engine with lists of details": {
			usage: {
				prompt_tokens: 30,
				completion_tokens: 10,
				total_tokens: 40,
				prompt_tokens_by_source: [{ source: "cache", tokens: 16 }],
			},
		},
	};

	it.each(Object.entries(USAGES))("passes streams with the usage of %s", async (_, { usage, others }) => {
		const ended = (frames: string[]) => [...frames.slice(0, -2), chunk([], { usage, ...others }), DONE];
		const [first, second] = [ended(GOOD), ended(RENAMED)];
		expect(await textsFor([first, second])).toEqual([first.join(""), second.join("")]);
	});

	it.each([
		["llama.cpp", llamaCppSse, "recite"],
		["Ollama", ollamaSse, "llama3.2"],
		["OpenAI", openAiSse, "gpt-5.4-mini"],
	])("passes streams that %s has sent", async (_, sent, name) => {
		const first = sent.replaceAll(`"model":"${name}"`, `"model":"${MODEL}"`);
		expect(first).not.toBe(sent);
		// OpenAI's chunks have it before the usage. A stream that is read is written without.
		const read = first.replaceAll(',"usage":null', "");
		expect(await textsFor([[first], [sent]])).toEqual([read, sent]);
	});

	it.each(["prompt_cache_hit_tokens", "cached_tokens"])(
		"reads streams whose cached tokens are only in %s, and adds the details",
		async (field) => {
			const usage = { prompt_tokens: 30, completion_tokens: 10, total_tokens: 40, [field]: 16 };
			const frames = [text("Hello"), end, chunk([], { usage }), DONE];
			for (const sent of await textsFor([frames, frames]))
				expect(sent).toContain('"prompt_tokens_details":{"cached_tokens":16}');
		},
	);

	it("reads the streams of an engine with another name of the model", async () => {
		const renamed = RENAMED.join("").replaceAll("other", MODEL);
		expect(await textsFor([RENAMED, RENAMED])).toEqual([renamed, renamed]);
	});

	it("adds usage to the streams of an engine that sends none", async () => {
		const texts = await textsFor([
			[text("Hello"), end, DONE],
			[text("Hello"), end, DONE],
		]);
		for (const sent of texts) expect(sent).toContain('"completion_tokens":');
	});

	it("passes a stream with tools after one with several tool calls", async () => {
		const request = { tools: [tool] };
		const complete = (index: number) =>
			chunk([
				{
					index: 0,
					delta: {
						role: "assistant",
						tool_calls: [
							{ index, id: `call_${index}`, type: "function", function: { name: "f", arguments: '{"a":1}' } },
						],
					},
				},
			]);
		const finished = chunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
		const calls = [complete(0), complete(1), finished, used, DONE];
		const [, unread] = await textsFor([calls, RENAMED], { request });
		expect(unread).toBe(RENAMED.join(""));
		for (const first of [GOOD, WITH_CALL]) {
			const [, read] = await textsFor([first, RENAMED], { request });
			expect(read).not.toContain("other");
		}
	});

	it.each([
		["the caller does not request usage", { request: { stream_options: undefined } }],
		["another target can continue the stream", { route: { targets: [{ backend: "a" }, { backend: "b" }] } }],
		[
			"the backend has a key",
			{ vars: { BACKENDS: { a: { ...VARS.BACKENDS.a, key: "KEY" } }, KEY: "k-1234567" } },
		],
		["the caller requests several answers", { request: { n: 2 } }],
		["the route forbids it", { route: { passthrough: false } }],
	])("reads every stream if %s", async (_, options) => {
		const twice = (frames: string[]) =>
			frames.flatMap((frame) => [frame, frame.replace('"index":0', '"index":1')]);
		const several = "request" in options && "n" in options.request;
		const streams = [GOOD, RENAMED].map((frames) => (several ? twice(frames).slice(0, -1) : frames));
		const [, second] = await textsFor(streams, options);
		expect(second).toContain(`"model":"${MODEL}"`);
		expect(second).not.toContain("other");
	});

	const PAIR = {
		targets: [
			{ backend: "a", continues: false },
			{ backend: "b", continues: false },
		],
	};
	const POOL = { a: { kind: "openai", pool: { replicas: ["http://a/v1", "http://b/v1"] } } };

	it.each([
		["no other target continues it", { route: PAIR }, [GOOD, GOOD, RENAMED]],
		[
			"no other replica continues it",
			{ route: { targets: [{ backend: "a", continues: false }] }, vars: { BACKENDS: POOL } },
			[GOOD, RENAMED],
		],
	])("passes a stream if %s", async (_, options, streams) => {
		// Each target must have shown that its streams need no change: the first does, and then the second after a failure of it.
		let next = 0;
		const isPair = options.route === PAIR;
		const { fetch } = upstream(({ url }) =>
			isPair && next === 0 && url.startsWith("http://a/")
				? new Response(null, { status: 503 })
				: events(...(streams[next++] ?? [])),
		);
		const ROUTES = { [MODEL]: { retries: { attempts: 1 }, ...options.route } };
		const gateway = testGateway({ vars: { ...VARS, ROUTES, ...("vars" in options && options.vars) }, fetch });
		const texts: string[] = [];
		for (const _ of streams) {
			const body = { model: MODEL, messages, stream: true, ...counted };
			texts.push(await (await gateway.post("/v1/chat/completions", body)).text());
		}
		expect(texts).toEqual(streams.map((frames) => frames.join("")));
	});

	it("reads a stream of a pair until both have shown that their streams need no change", async () => {
		const [, second] = await textsFor([GOOD, RENAMED], { route: PAIR });
		expect(second).toBe(RENAMED.join("").replaceAll("other", MODEL));
	});

	it("reads the streams of a catalogue's model with a price, whose usage gets its neurons", async () => {
		const named = (frames: string[]) => frames.map((frame) => frame.replace(MODEL, LLAMA));
		const vars = { ROUTES: { "*": [{ backend: "a" }] } };
		const texts = await textsFor([named(GOOD), named(GOOD)], { vars, request: { model: LLAMA } });
		for (const sent of texts) expect(sent).toContain('"neurons":');
	});

	it("passes a stream with the header for identical requests, because streams are not shared", async () => {
		const headers = { "x-ganglion-single-flight": "1" };
		expect(await textsFor([GOOD, RENAMED], { headers })).toEqual([GOOD.join(""), RENAMED.join("")]);
	});

	it("has the cost of a model of the operator in a comment at the end, read or not", async () => {
		const prices = [{ unit: "per M output tokens", neurons: 1_000_000 }];
		const vars = { MODELS: { [MODEL]: { task: "Text Generation", prices } } };
		// Two output tokens.
		const read = `${GOOD.join("")}: ganglion neurons=2\n\n`;
		const passed = `${RENAMED.join("")}: ganglion neurons=2\n\n`;
		expect(await textsFor([GOOD, RENAMED], { vars })).toEqual([read, passed]);
	});
});
