import { describe, expect, it } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import openApi from "../../fixtures/cog/openapi-text.json?raw";
import stream from "../../fixtures/cog/stream.sse?raw";
import { outputOf } from "../ask.ts";
import { drain, eventStream, failureOf, json, type Responder, tap } from "../upstream.ts";
import { ask, inputOf } from "./ask.ts";
import { container, predictionsOf, succeeds, takes, URL } from "./container.ts";

const HI: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };
const text = { type: "string" };

const model = (predict: Parameters<typeof container>[0]["predict"], schema = openApi): Responder =>
	container({ openApi: schema, predict, other: () => json({}) });
const says = model(() => succeeds(["Onions", " bloom"]));
const given = (input: Partial<ChatInput>, respond = says) =>
	inputOf(ask("text-generation", { ...HI, ...input }, respond));

describe("a conversation", () => {
	it("has one turn as the prompt, with the system prompt and clamped sampling", async () => {
		expect(
			await given({
				messages: [
					{ role: "developer", content: "Be short." },
					{ role: "user", content: [{ type: "text", text: "hi" }] },
				],
				max_tokens: 9000,
				temperature: 1.7,
				top_k: 5,
				stop: ["a", "b"],
			}),
		).toEqual({
			prompt: "hi",
			system_prompt: "Be short.",
			max_tokens: 512,
			temperature: 1,
			stop_sequences: "a,b",
		});
	});

	it.each([
		[-1, {}],
		[0, {}],
		[5, { top_k: 5 }],
	])(
		"has a top_k of %i only if it is positive: a model may start at 1, and read that as the best token",
		async (top_k, expected) => {
			const schema = takes({ prompt: text, top_k: { type: "integer", minimum: 1 } });
			const container = model(() => succeeds("ok"), schema);
			expect(await given({ top_k }, container)).toEqual({ prompt: "hi", ...expected });
		},
	);

	it("has the penalties of the model's inputs", async () => {
		const penalties = { repetition_penalty: 1.1, frequency_penalty: 0.2, presence_penalty: 0.3 };
		const number = { type: "number" };
		const schema = takes({
			prompt: text,
			repetition_penalty: number,
			frequency_penalty: number,
			presence_penalty: number,
		});
		expect(
			await given(
				penalties,
				model(() => succeeds("ok"), schema),
			),
		).toEqual({ prompt: "hi", ...penalties });
	});

	it("has several turns as a transcript", async () => {
		expect(
			await given({
				messages: [
					{ role: "user", content: "2 + 2?" },
					{ role: "assistant", content: "4" },
					{ role: "user", content: "And 1?" },
				],
			}),
		).toEqual({ prompt: "User: 2 + 2?\nAssistant: 4\nUser: And 1?\nAssistant:" });
	});

	it("puts the system prompt first if the model has no input for it", async () => {
		const messages: ChatInput["messages"] = [
			{ role: "system", content: "Be short." },
			{ role: "user", content: "hi" },
		];
		const respond = model(() => succeeds("ok"), takes({ prompt: text }));
		expect(await given({ messages }, respond)).toEqual({ prompt: "Be short.\n\nhi" });
	});

	it.each([
		["array", [{ role: "user", content: "hi" }]],
		["string", '[{"role":"user","content":"hi"}]'],
	])("is sent unchanged to a model with messages as %s", async (type, messages) => {
		const respond = model(() => succeeds("ok"), takes({ messages: { type }, prompt: text }));
		expect(await given({}, respond)).toEqual({ messages });
	});

	it("rejects an image if the model has no image input", async () => {
		const url = "data:image/png;base64,AAAA";
		const messages: ChatInput["messages"] = [
			{
				role: "user",
				content: [
					{ type: "image_url", image_url: { url } },
					{ type: "text", text: "hi" },
				],
			},
		];
		const sees = model(() => succeeds("ok"), takes({ prompt: text, image: text }));
		expect(await given({ messages }, sees)).toEqual({ prompt: "hi", image: url });
		expect(await failureOf(given({ messages }))).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' has no input for image",
			retryable: true,
		});
	});

	it("disables the template for a raw prompt", async () => {
		expect(await given({ messages: [], prompt: "Once" })).toEqual({
			prompt: "Once",
			prompt_template: "{prompt}",
		});
	});

	it.each<[Partial<ChatInput>, string]>([
		[{ n: 2 }, "gives one answer a request"],
		[{ tools: [{ type: "function", function: { name: "a" } }] }, "calls no tools"],
		[{ response_format: { type: "json_object" } }, "keeps to no JSON schema"],
		[{ suffix: "end" }, "takes no suffix"],
	])("rejects %j before a call", async (fields, what) => {
		const asking = ask("text-generation", { ...HI, ...fields }, says);
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: `The backend 'lab' ${what}`,
			retryable: true,
		});
		expect(asking.call.requests).toHaveLength(0);
	});
});

describe("an input", () => {
	it.each<[object, unknown, unknown]>([
		[{ type: "integer" }, 7.6, 8],
		[{ type: "number" }, 7.6, 7.6],
		[{ type: "integer", minimum: 9 }, 7, 9],
		[{ type: "integer", maximum: 5 }, 7, 5],
		[{ type: "string" }, 7, "7"],
		[{}, 7, 7],
		[{ enum: [1, 5, 10] }, 7, 5],
		[{ enum: ["1", "8", "auto"] }, 7, "8"],
		[{ enum: ["auto"] }, 7, undefined],
	])("with schema %j converts %j to %j", async (schema, seed, sent) => {
		const respond = model(() => succeeds("ok"), takes({ prompt: text, seed: schema }));
		expect(await given({ seed: seed as number }, respond)).toEqual({
			prompt: "hi",
			...(sent !== undefined && { seed: sent }),
		});
	});

	it.each<[object, unknown]>([
		[{ type: "array" }, ["a", "b"]],
		[{ type: "string" }, "a,b"],
		[{}, ["a", "b"]],
	])("with schema %j converts a list to %j", async (schema, sent) => {
		const respond = model(() => succeeds("ok"), takes({ prompt: text, stop: schema }));
		expect(await given({ stop: ["a", "b"] }, respond)).toEqual({ prompt: "hi", stop: sent });
	});

	it.each<[object, unknown]>([
		[{ enum: ["HI", "hi"] }, "HI"],
		[{ type: "array" }, ["hi"]],
		[{ type: "string" }, "hi"],
	])("with schema %j converts a text to %j", async (schema, sent) => {
		expect(
			await given(
				{},
				model(() => succeeds("ok"), takes({ prompt: schema })),
			),
		).toEqual({ prompt: sent });
	});
});

describe("a prediction", () => {
	it("is a completion with the model's token counts", async () => {
		const metrics = { predict_time: 1, input_token_count: 3, output_token_count: 2 };
		const asking = ask(
			"text-generation",
			HI,
			model(() => succeeds(["On", "ions"], { metrics })),
		);
		expect(await outputOf(asking)).toMatchObject({
			object: "chat.completion",
			model: "engine-model",
			choices: [{ index: 0, message: { role: "assistant", content: "Onions" }, finish_reason: "stop" }],
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
		expect(predictionsOf(asking.call.requests)[0]?.id).toMatch(/^uuid-\d$/);
	});

	it.each([
		[{ token_input_count: 3 }, { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 }],
		[{ token_output_count: 2 }, { prompt_tokens: 0, completion_tokens: 2, total_tokens: 2 }],
		[{ input_token_count: "3" }, { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 }],
		[{ input_token_count: "many" }, undefined],
	])("has the usage of its metrics: %j", async (metrics, usage) => {
		const respond = model(() => succeeds("ok", { metrics }));
		expect((await outputOf(ask("text-generation", HI, respond))).usage).toEqual(usage);
	});

	const failing = (body: object, status = 200) =>
		failureOf(
			ask(
				"text-generation",
				HI,
				model(() => json(body, status)),
			).answer,
		);

	it.each([
		[{ status: "failed", error: "CUDA out of memory" }, "executionFailed", "ended its prediction as failed"],
		[{ status: "canceled" }, "executionFailed", "ended its prediction as canceled"],
		[{ status: "starting" }, "executionFailed", "answered with something that is not a finished prediction"],
		[{ status: "succeeded", output: 7 }, "executionFailed", "answered with something that is not a text"],
	])("%j fails without the model's message", async (body, key, what) => {
		expect(await failing(body)).toMatchObject({ key, description: `The backend 'lab' ${what}` });
	});

	it("fails as refused if a safety check blocks it", async () => {
		const error = "NSFW content detected. Try running it again, or try a different prompt.";
		expect(await failing({ status: "failed", error })).toMatchObject({
			key: "refusedByModel",
			description: error,
		});
	});

	it("is retryable elsewhere if all slots are in use", async () => {
		expect(await failing({ detail: "Already running a prediction" }, 409)).toMatchObject({
			key: "outOfCapacity",
			retryable: true,
			upstream: { backend: "lab", status: 409 },
		});
	});

	it("names invalid inputs", async () => {
		const detail = [{ loc: ["body", "input", "prompt"], msg: "field required" }];
		expect(await failing({ detail }, 422)).toMatchObject({
			key: "engineRefused",
			description: "field required",
		});
	});

	it("is cancelled by its id when the caller disconnects", async () => {
		const asking = ask(
			"text-generation",
			HI,
			model(
				({ signal }) =>
					new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
			),
		);
		const failure = failureOf(asking.answer);
		await expect.poll(() => predictionsOf(asking.call.requests)).toHaveLength(1);
		asking.call.disconnect();
		expect(await failure).toMatchObject({ key: "aborted" });
		const [prediction] = predictionsOf(asking.call.requests);
		const cancel = asking.call.requests.at(-1);
		expect(cancel?.url).toBe(`${URL}/predictions/${prediction?.id}/cancel`);
		expect(cancel?.init.method).toBe("POST");
		expect(cancel?.signal.aborted).toBe(false);
		// The request lives until the container has heard.
		expect(asking.call.background).toHaveLength(1);
	});
});

describe("a container", () => {
	it.each([
		["STARTING", "outOfCapacity", "starting"],
		["BUSY", "outOfCapacity", "busy"],
		["SETUP_FAILED", "upstreamUnavailable", "setup failed"],
		["DEFUNCT", "upstreamUnavailable", "defunct"],
		["UNHEALTHY", "upstreamUnavailable", "unhealthy"],
	])("with status %s receives no prompt", async (status, key, word) => {
		const respond = container({ openApi, health: { status }, predict: () => succeeds("ok") });
		const asking = ask("text-generation", HI, respond);
		expect(await failureOf(asking.answer)).toMatchObject({
			key,
			description: `The backend 'lab' is ${word}`,
			retryable: true,
		});
		expect(predictionsOf(asking.call.requests)).toHaveLength(0);
	});
});

describe("a stream", () => {
	const streaming = (respond: Responder) => ask("text-generation", { ...HI, stream: true }, respond);
	async function read(asking: ReturnType<typeof streaming>) {
		const answer = await asking.answer;
		if (answer.kind !== "stream") throw new Error("a value");
		const { text, error } = await drain(answer.events);
		const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: {"));
		const chunks = frames.map((frame) => JSON.parse(frame.slice(6)));
		return { chunks, error, done: text.endsWith("data: [DONE]\n\n") };
	}

	it("is requested and converted to OpenAI's chunks", async () => {
		const asking = streaming(model(() => eventStream(stream)));
		const { chunks, done } = await read(asking);
		expect(done).toBe(true);
		expect(chunks.map(({ choices }) => choices[0])).toEqual([
			{ index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null },
			{ index: 0, delta: { content: "Onions" }, logprobs: null, finish_reason: null },
			{ index: 0, delta: { content: " bloom" }, logprobs: null, finish_reason: null },
			{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" },
		]);
		const request = asking.call.requests.find(({ url }) => url.endsWith("/predictions"));
		expect(request?.headers.get("accept")).toBe("text/event-stream");
		expect(request?.json.id).toMatch(/^uuid-\d$/);
	});

	it("has no chunk for an empty output", async () => {
		const event = (chunk: string) => `event: output\ndata: ${JSON.stringify({ chunk })}\n\n`;
		const end = 'event: completed\ndata: {"status":"succeeded"}\n\n';
		const { chunks, done } = await read(
			streaming(model(() => eventStream(event("") + event("a") + event("") + end))),
		);
		expect(done).toBe(true);
		expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
			{ role: "assistant", content: "" },
			{ content: "a" },
			{},
		]);
	});

	it("has the model's token counts", async () => {
		const metrics = { input_token_count: 3, output_token_count: 2 };
		const completed = { status: "succeeded", metrics };
		const events = `event: output\ndata: {"chunk":"a"}\n\nevent: log\ndata: {"data":"x"}\n\nevent: completed\ndata: ${JSON.stringify(completed)}\n\n`;
		const { chunks } = await read(streaming(model(() => eventStream(events))));
		expect(chunks.at(-1)).toMatchObject({
			choices: [],
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
	});

	it("falls back to the complete output if the model does not stream", async () => {
		const asking = streaming(
			model(({ headers }) =>
				headers.get("accept") === "text/event-stream"
					? json({ detail: "Not Acceptable" }, 406)
					: succeeds(["On", "ions"]),
			),
		);
		expect((await outputOf(asking)).choices[0]?.message.content).toBe("Onions");
		expect(predictionsOf(asking.call.requests)).toHaveLength(2);
	});

	it("is one prediction if the container answers with a complete one", async () => {
		const asking = streaming(model(() => succeeds(["On", "ions"])));
		expect((await outputOf(asking)).choices[0]?.message.content).toBe("Onions");
		expect(predictionsOf(asking.call.requests)).toHaveLength(1);
		const failed = streaming(model(() => json({ status: "failed" })));
		expect(await failureOf(failed.answer)).toMatchObject({
			description: "The backend 'lab' ended its prediction as failed",
		});
	});

	it("is requested once if the container fails", async () => {
		const asking = streaming(model(() => json({ detail: "boom" }, 500)));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "executionFailed",
			upstream: { backend: "lab", status: 500 },
		});
		expect(predictionsOf(asking.call.requests)).toHaveLength(1);
	});

	it("is not requested from a model that does not yield", async () => {
		const asking = streaming(model(() => succeeds("ok"), takes({ prompt: text }, { type: "string" })));
		await outputOf(asking);
		expect(asking.call.requests.at(-1)?.headers.get("accept")).toBe("application/json");
	});

	it.each([
		[
			"fails",
			'event: completed\ndata: {"status":"failed","error":"boom"}\n\n',
			"ended its prediction as failed",
		],
		["has an error", 'event: error\ndata: {"detail":"dropped"}\n\n', "was cut off mid-answer"],
		[
			"has an error before its end",
			'event: error\ndata: {"detail":"dropped"}\n\nevent: completed\ndata: {"status":"succeeded"}\n\n',
			"was cut off mid-answer",
		],
		["stops", "", "was cut off mid-answer"],
		[
			"is of no text",
			'event: output\ndata: {"chunk":{"a":1}}\n\n',
			"answered with something that is not a stream of text",
		],
	])("that %s ends with a failure", async (_, end, what) => {
		const good = 'event: output\ndata: {"chunk":"Onions","index":0}\n\n';
		const { chunks, error, done } = await read(streaming(model(() => eventStream(good + end))));
		expect(chunks).toHaveLength(2);
		expect(done).toBe(false);
		expect(error).toMatchObject({ key: "executionFailed", description: `The backend 'lab' ${what}` });
	});

	it("is cancelled when the reader cancels, and not after its end", async () => {
		const upstream = tap();
		upstream.push('event: output\ndata: {"chunk":"Onions","index":0}\n\n');
		const left = streaming(model(() => eventStream(upstream.body)));
		const answer = await left.answer;
		if (answer.kind !== "stream") throw new Error("a value");
		await answer.events.cancel();
		expect(left.call.requests.at(-1)?.url).toMatch(/\/predictions\/uuid-\d\/cancel$/);

		const ended = streaming(model(() => eventStream(stream)));
		await read(ended);
		expect(ended.call.requests.filter(({ url }) => url.endsWith("/cancel"))).toHaveLength(0);
	});
});

describe("embeddings", () => {
	const respond = (output: unknown, properties: Record<string, object>) =>
		model(() => succeeds(output), takes(properties));

	it.each([
		["array", ["a, b", "c"]],
		["string", '["a, b","c"]'],
	])("of several texts are one prediction if the model accepts them as %s", async (type, texts) => {
		const asking = ask("text-embeddings", { texts: ["a, b", "c"] }, respond([[1], [2]], { texts: { type } }));
		expect(await outputOf(asking)).toEqual({ vectors: [[1], [2]] });
		expect(await inputOf(asking)).toEqual({ texts });
	});

	it("are one prediction per text if the model accepts one text", async () => {
		const asking = ask("text-embeddings", { texts: ["a", "b"] }, respond({ embedding: [1, 2] }, { text }));
		expect(await outputOf(asking)).toEqual({
			vectors: [
				[1, 2],
				[1, 2],
			],
		});
		expect(predictionsOf(asking.call.requests).map(({ input }) => input)).toEqual([
			{ text: "a" },
			{ text: "b" },
		]);
	});

	it.each([[[[1], [2], [3]]], [[]], ["text"], [{ embeddings: [[1]] }]])(
		"that are not two are refused: %j",
		async (output) => {
			const asking = ask(
				"text-embeddings",
				{ texts: ["a", "b"] },
				respond(output, { texts: { type: "array" } }),
			);
			expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
		},
	);
});
