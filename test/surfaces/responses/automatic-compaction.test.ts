/** Automatic compaction (`context_management`). Expected forms: https://developers.openai.com/api/docs/guides/compaction */
import OpenAI from "openai";
import { describe, expect, it, vi } from "vitest";
import { backgroundWork } from "../../../src/surfaces/responses/background.ts";
import {
	BASE,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";

const MODEL = "gpt-5.6-sol";
const LONG = "The boat is blue. ".repeat(200);
const SUMMARY = "The boat is blue.";
const SUMMARY_MESSAGE = `The conversation so far was replaced by this summary:\n\n${SUMMARY}`;
const context_management = [{ type: "compaction", compact_threshold: 500 }];
const HISTORY = [
	{ role: "system", content: "Be brief." },
	{ role: "user", content: LONG },
	{ role: "assistant", content: "I see." },
];
const BODY = {
	model: MODEL,
	input: [...HISTORY, { role: "user", content: "Which colour?" }],
	context_management,
};

interface EngineRequest {
	messages: { role: string; content: unknown; tool_calls?: unknown }[];
	stream?: boolean;
	max_tokens?: number;
	max_completion_tokens?: number;
}

type Answer = Record<string, unknown> & {
	id: string;
	status: string;
	output: Record<string, unknown>[];
	usage: Record<string, unknown>;
};

const asksForSummary = ({ messages }: EngineRequest): boolean =>
	String(messages.at(-1)?.content).startsWith("Write a summary of this conversation.");

const summaryOf = (summary: string, finish_reason = "stop"): Response => {
	const written = completion(summary) as { choices: [object] };
	return Response.json({ ...written, choices: [{ ...written.choices[0], finish_reason }] });
};

function world({ summary = () => summaryOf(SUMMARY), vars = ENGINE_VARS as Record<string, unknown> } = {}) {
	const sent: EngineRequest[] = [];
	const { fetch } = upstream(async (request) => {
		const body = await request.json<EngineRequest>();
		sent.push(body);
		if (asksForSummary(body)) return summary();
		return body.stream
			? events(delta("Bl"), delta("ue"), finish(), usage(), DONE)
			: Response.json(completion("Blue"));
	});
	const gateway = testGateway({ vars, fetch });
	return {
		...gateway,
		sent,
		create: async (fields: object) => {
			const response = await gateway.post("/v1/responses", fields);
			return { status: response.status, headers: response.headers, body: await response.json<Answer>() };
		},
	};
}

const framesOf = (text: string): Record<string, unknown>[] =>
	text
		.split("\n")
		.filter((line) => line.startsWith("data: {"))
		.map((line) => JSON.parse(line.slice("data: ".length)));

describe("a request whose input is longer than its threshold", () => {
	it("is compacted by a call of the model, and answered after it", async () => {
		const { create, sent, services } = world();
		const { body, headers } = await create({ ...BODY, max_output_tokens: 20, instructions: "Say one word." });
		expect(body).toMatchObject({
			status: "completed",
			output: [
				{ type: "compaction", id: expect.stringMatching(/^cmp_/), encrypted_content: expect.any(String) },
				{ type: "message", content: [{ text: "Blue" }] },
			],
			// Two answers with 3, 2 and 5 tokens.
			usage: { input_tokens: 6, output_tokens: 4, total_tokens: 10 },
			max_output_tokens: 20,
		});
		expect(headers.get("x-ganglion-dropped")).toBeNull();
		expect(sent).toHaveLength(2);
		expect(sent[0]?.messages.map(({ role }) => role)).toEqual([
			"system",
			"user",
			"assistant",
			"user",
			"user",
		]);
		expect(sent[0]?.max_tokens ?? sent[0]?.max_completion_tokens).toBe(4_096);
		expect(sent[1]?.messages).toEqual([
			{ role: "system", content: "Say one word.\n\nBe brief." },
			{ role: "user", content: SUMMARY_MESSAGE },
			{ role: "user", content: "Which colour?" },
		]);
		const { requests } = await services.ledgers.of("local").requests({ limit: 10 });
		expect(requests.map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
	});

	it("starts no summary for a model of a third party without a key", async () => {
		const { create, sent, services } = world({ vars: {} });
		const started = vi.spyOn(services, "uuid");
		const idsOf = async (fields: object) => {
			started.mockClear();
			const { status } = await create({ ...BODY, model: "anthropic/claude-sonnet-4.5", ...fields });
			expect(status).toBe(402);
			return started.mock.calls.length;
		};
		expect(await idsOf({})).toBe(await idsOf({ context_management: undefined }));
		expect(sent).toEqual([]);
	});

	it("is continued from the summary, by its id and by its items", async () => {
		const { create, sent, get } = world();
		const first = await create(BODY);
		const next = [
			{ role: "system", content: "Be brief." },
			{ role: "user", content: SUMMARY_MESSAGE },
			{ role: "assistant", content: "Blue" },
			{ role: "user", content: "Sure?" },
		];
		const second = await create({ ...BODY, input: "Sure?", previous_response_id: first.body.id });
		expect(sent.at(-1)?.messages).toEqual(next);
		expect(second.body.output).toMatchObject([{ type: "message" }]);
		expect(sent).toHaveLength(3);
		const own = { role: "user", content: "Sure?" };
		await create({ ...BODY, input: [...BODY.input, ...first.body.output, own], store: false });
		expect(sent.at(-1)?.messages).toEqual(next);
		// The items before the summary may be omitted.
		await create({ ...BODY, input: [...first.body.output, own], store: false });
		expect(sent.at(-1)?.messages).toEqual(next.slice(1));
		const counted = await world().post("/v1/responses/input_tokens", {
			model: MODEL,
			input: [...BODY.input, ...first.body.output, own],
		});
		expect((await counted.json<{ input_tokens: number }>()).input_tokens).toBeLessThan(100);
		const stored = await get(`/v1/responses/${first.body.id}`);
		expect((await stored.json<Answer>()).output).toEqual(first.body.output);
	});

	it("is continued beyond what a chain or a conversation may have", async () => {
		const { create, post, sent } = world();
		const large = [
			{ role: "developer", content: "Be brief." },
			{ role: "user", content: "a".repeat(6_000_000) },
		];
		const { id: conversation } = await (await post("/v1/conversations", {})).json<{ id: string }>();
		for (const first of [{}, { conversation }]) {
			let { body } = await create({ ...BODY, ...first, input: large });
			for (const word of ["One", "Two"]) {
				const next = "conversation" in first ? first : { previous_response_id: body.id };
				const input = [{ role: "user", content: "b".repeat(6_000_000) }];
				({ body } = await create({ ...BODY, ...next, input, instructions: word }));
				expect(body.output).toMatchObject([{ type: "compaction" }, { type: "message" }]);
			}
			const next = "conversation" in first ? first : { previous_response_id: body.id };
			await create({ ...BODY, ...next, input: "Sure?" });
			expect(sent.at(-1)?.messages.map(({ content }) => content)).toEqual([
				"Be brief.",
				SUMMARY_MESSAGE,
				"Blue",
				"Sure?",
			]);
		}
	});

	it.each([true, false])("streams the summary before the answer, store %s", async (store) => {
		const { post, get, sent } = world();
		const response = await post("/v1/responses", { ...BODY, stream: true, store });
		const frames = framesOf(await response.text());
		expect(frames.map(({ type }) => type).slice(0, 5)).toEqual([
			"response.created",
			"response.in_progress",
			"response.output_item.added",
			"response.output_item.done",
			"response.output_item.added",
		]);
		expect(frames.map(({ sequence_number }) => sequence_number)).toEqual(frames.map((_, index) => index));
		expect(frames[3]).toMatchObject({ output_index: 0, item: { type: "compaction" } });
		for (const { output_index, type } of frames.slice(4, -1)) expect([type, output_index]).toEqual([type, 1]);
		const end = frames.at(-1)?.response as Answer;
		expect(end).toMatchObject({
			status: "completed",
			output: [frames[3]?.item, { type: "message", content: [{ text: "Blue" }] }],
			usage: { input_tokens: 6, output_tokens: 4, total_tokens: 10 },
		});
		expect(sent.map(({ stream }) => stream ?? false)).toEqual([false, true]);
		const stored = await get(`/v1/responses/${end.id}`);
		expect(stored.status).toBe(store ? 200 : 400);
		if (store) expect((await stored.json<Answer>()).output).toEqual(end.output);
	});

	it("is compacted over a websocket, whose memory continues it", async () => {
		const { app, sent } = world();
		const response = await app.request(`${BASE}/v1/responses`, { headers: { upgrade: "websocket" } });
		const socket = response.webSocket as WebSocket;
		socket.accept();
		const ended: Answer[] = [];
		socket.addEventListener("message", ({ data }) => {
			const frame = JSON.parse(String(data));
			if (frame.type === "response.completed") ended.push(frame.response);
		});
		const send = (fields: object) => socket.send(JSON.stringify({ type: "response.create", ...fields }));
		send({ ...BODY, store: false });
		await expect.poll(() => ended.length, { timeout: 30_000 }).toBe(1);
		expect(ended[0]?.output).toMatchObject([{ type: "compaction" }, { type: "message" }]);
		send({ ...BODY, input: "Sure?", store: false, previous_response_id: ended[0]?.id });
		await expect.poll(() => ended.length, { timeout: 30_000 }).toBe(2);
		expect(sent.at(-1)?.messages.map(({ content }) => content)).toEqual([
			"Be brief.",
			SUMMARY_MESSAGE,
			"Blue",
			"Sure?",
		]);
		socket.close();
	});

	it.each([true, false])("is compacted in the background, stream %s", async (stream) => {
		const { post, get, sent, services } = world();
		const queued: { account: string; key: string }[] = [];
		services.storage = {
			...services.storage,
			queue: Object.assign(Object.create(services.storage.queue), {
				enqueue: async (item: { account: string; key: string }) => queued.push(item),
			}),
		};
		const created = await post("/v1/responses", { ...BODY, background: true, stream });
		if (stream) await created.body?.cancel();
		const [item] = queued;
		await backgroundWork(services).run({
			...{ account: item?.account ?? "", key: item?.key ?? "", kind: "responses", payload: undefined },
			...{ attempt: 1, fence: 1, signal: new AbortController().signal, progress: () => {} },
		});
		expect(sent).toHaveLength(2);
		const stored = await (await get(`/v1/responses/${item?.key}`)).json<Answer>();
		expect(stored).toMatchObject({
			status: "completed",
			background: true,
			output: [{ type: "compaction" }, { type: "message", content: [{ text: "Blue" }] }],
		});
	});

	it("is streamed to OpenAI's client", async () => {
		const { app } = world();
		const openai = new OpenAI({
			apiKey: "none",
			baseURL: `${BASE}/v1`,
			dangerouslyAllowBrowser: true,
			fetch: async (url, init) => app.request(String(url), init),
		});
		const answer = await openai.responses.stream(BODY as never).finalResponse();
		expect(answer.output.map(({ type }) => type)).toEqual(["compaction", "message"]);
		expect(answer.output_text).toBe("Blue");
		const next = await openai.responses.create({
			model: MODEL,
			input: "Sure?",
			previous_response_id: answer.id,
			context_management,
		});
		expect(next.output_text).toBe("Blue");
	});

	it("keeps the calls and results of the last step", async () => {
		const { create, sent } = world();
		const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
		const output = { type: "function_call_output", call_id: "c1", output: "It is 42 metres long." };
		await create({ ...BODY, input: [...HISTORY, { role: "user", content: "How long?" }, call, output] });
		expect(sent[1]?.messages).toMatchObject([
			{ role: "system" },
			{ role: "user", content: SUMMARY_MESSAGE },
			{ role: "assistant", tool_calls: [{ id: "c1" }] },
			{ role: "tool", content: "It is 42 metres long." },
		]);
	});

	it("is sent as it is if nothing is before its last message, and later by its summary", async () => {
		const { create, sent } = world();
		const first = await create({ ...BODY, input: LONG });
		expect(first.body.output).toMatchObject([{ type: "compaction" }, { type: "message" }]);
		expect(sent[1]?.messages).toEqual([{ role: "user", content: LONG }]);
		await create({ ...BODY, input: "Sure?", previous_response_id: first.body.id });
		expect(sent[2]?.messages.map(({ content }) => content)).toEqual([SUMMARY_MESSAGE, "Blue", "Sure?"]);
	});

	it.each([
		["is empty", () => summaryOf(" ")],
		["is cut", () => summaryOf("The boat", "length")],
	])("is answered without a summary that %s, and the header names the field", async (_, summary) => {
		const { create, sent } = world({ summary });
		const { body, headers } = await create(BODY);
		expect(body.output).toMatchObject([{ type: "message" }]);
		expect(headers.get("x-ganglion-dropped")).toBe("context_management");
		expect(sent[1]?.messages).toHaveLength(4);
	});

	it("fails as the call for the summary fails, and nothing is stored", async () => {
		const refusal = {
			error: { message: "Slow down", type: "rate_limit_error", code: "rate_limit_exceeded" },
		};
		const { create, sent, services } = world({ summary: () => Response.json(refusal, { status: 429 }) });
		for (const stream of [true, false]) {
			const { status, body } = await create({ ...BODY, stream });
			expect(status).toBe(429);
			expect(body).toMatchObject({ error: { code: "rate_limit_exceeded", message: expect.any(String) } });
		}
		expect(sent.every(asksForSummary)).toBe(true);
		expect(await services.storedResponses.usage("local")).toMatchObject({ responses: 0 });
	});

	it("has one log in a gateway, with the tokens of both calls", async () => {
		const { app, post } = world();
		const headers = { "cf-aig-gateway-id": "compactions" };
		const response = await post("/v1/responses", { ...BODY, store: false }, { headers });
		await response.text();
		const logs = `${BASE.replace(/\/ai$/, "")}/ai-gateway/gateways/compactions/logs`;
		const log = async () => {
			const read = await app.request(`${logs}/${response.headers.get("cf-aig-log-id")}`);
			return (await read.json<{ result: object | null }>()).result;
		};
		await expect.poll(log, { timeout: 30_000 }).toMatchObject({ tokens_in: 6, tokens_out: 4, success: true });
	});

	it.each(["summary", "answer"])("ends when its caller leaves during the %s", async (part) => {
		const calls: AbortSignal[] = [];
		const caller = new AbortController();
		const { app, services } = testGateway({
			vars: ENGINE_VARS,
			fetch: async (input, init) => {
				const request = new Request(input, init);
				const isSummary = asksForSummary(await request.clone().json<EngineRequest>());
				calls.push(request.signal);
				if (isSummary && part === "answer") return summaryOf(SUMMARY);
				return new Promise((_, reject) => {
					request.signal.addEventListener("abort", () => reject(request.signal.reason));
					queueMicrotask(() => caller.abort());
				});
			},
		});
		const response = await app.request(`${BASE}/v1/responses`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(BODY),
			signal: caller.signal,
		});
		expect(response.status).toBeGreaterThanOrEqual(400);
		expect(calls.map(({ aborted }) => aborted)).toEqual(part === "summary" ? [true] : [false, true]);
		expect(await services.storedResponses.usage("local")).toMatchObject({ responses: 0 });
	});

	it("is refused by a budget that its summary has used", async () => {
		const vars = { ...ENGINE_VARS, LIMITS: { requests_per_minute: { "Text Generation": 1 } } };
		const { create, sent } = world({ vars });
		const { status, body } = await create(BODY);
		expect([status, sent.length, body.error]).toMatchObject([429, 1, { code: "rate_limit_exceeded" }]);
	});
});

describe("a request with context_management", () => {
	it("is not compacted below its threshold", async () => {
		const { create, sent } = world();
		const { body, headers } = await create({ ...BODY, input: "Hi" });
		expect(body.output).toMatchObject([{ type: "message" }]);
		expect(headers.get("x-ganglion-dropped")).toBeNull();
		expect(sent).toHaveLength(1);
	});

	it("is compacted at 80 % of the context window without a threshold", async () => {
		// 8,192 tokens.
		const model = "@cf/meta/llama-3-8b-instruct";
		const own = [{ type: "compaction" }];
		const { create, sent } = world();
		const input = (words: number) => [...HISTORY, { role: "user", content: "blue ".repeat(words) }];
		await create({ model, input: input(3_000), context_management: own });
		expect(sent.map(asksForSummary)).toEqual([false]);
		await create({ model, input: input(6_200), context_management: own });
		expect(sent.map(asksForSummary)).toEqual([false, true, false]);
	});

	it("names entries of other types as dropped, and refuses an invalid threshold", async () => {
		const { create, sent } = world();
		const other = await create({ ...BODY, context_management: [{ type: "clearing" }] });
		expect(other.headers.get("x-ganglion-dropped")).toBe("context_management");
		expect(sent).toHaveLength(1);
		for (const compact_threshold of [0, -1, 1.5, "500"]) {
			const refused = await create({
				...BODY,
				context_management: [{ type: "compaction", compact_threshold }],
			});
			expect(refused.status).toBe(400);
			expect(JSON.stringify(refused.body)).toContain("context_management");
		}
		expect(sent).toHaveLength(1);
	});

	it("is passed on to OpenAI, which compacts by itself", async () => {
		const received: unknown[] = [];
		const { fetch } = upstream(async (request) => {
			received.push(request.url, await request.json());
			return Response.json({
				...{ id: "resp_1", object: "response", created_at: 1, status: "completed", model: MODEL },
				output: [
					{ id: "cmp_1", type: "compaction", encrypted_content: "gAAAA" },
					{
						...{ id: "msg_1", type: "message", role: "assistant", status: "completed" },
						content: [{ type: "output_text", text: "Blue", annotations: [] }],
					},
				],
				usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
			});
		});
		const vars = {
			BACKENDS: { openai: { kind: "openai", url: "https://api.openai.com/v1", key: "KEY" } },
			ROUTES: { "*": [{ backend: "openai", model: MODEL }] },
			KEY: "sk-secret",
		};
		const { post } = testGateway({ vars, fetch });
		const body = await (await post("/v1/responses", BODY)).json<Answer>();
		expect(received).toMatchObject(["https://api.openai.com/v1/responses", { context_management }]);
		expect(body.output).toMatchObject([{ type: "compaction" }, { type: "message" }]);
	});

	it("is no part of a request that is a compaction itself", async () => {
		const { create, sent } = world();
		const input = [...BODY.input, { type: "compaction_trigger" }];
		const first = await create({ ...BODY, input });
		expect(first.body.output).toMatchObject([{ type: "compaction" }]);
		expect(sent).toHaveLength(1);
		// In the chain of stored responses the summary replaces what is before it.
		await create({ model: MODEL, input: "Sure?", previous_response_id: first.body.id });
		expect(sent[1]?.messages.map(({ content }) => content)).toEqual(["Be brief.", SUMMARY_MESSAGE, "Sure?"]);
	});
});
