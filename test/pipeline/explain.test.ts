import { describe, expect, it } from "vitest";
import type { Explanation } from "../../src/pipeline/explain.ts";
import { completion, ENGINE_VARS, testGateway, upstream } from "../gateway.ts";
import { closedGateway, failureOf, json } from "../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const GPT_OSS = "@cf/openai/gpt-oss-20b";
const BODY = { messages: [{ role: "user", content: "Hi" }], max_tokens: 100 };

const TWO = {
	BACKENDS: {
		big: { kind: "openai", urls: ["http://a/v1", "http://b/v1"], key: "ENGINE_KEY" },
		spare: { kind: "openai", url: "http://spare/v1" },
		vectors: { kind: "tei", url: "http://tei" },
	},
	ROUTES: {
		[LLAMA]: {
			targets: [
				{ backend: "big", model: "llama", weight: 3 },
				{ backend: "spare", weight: 1 },
				{ backend: "vectors" },
			],
			hedge_ms: 50,
		},
	},
	ENGINE_KEY: "sk-engine-secret",
};

function explainer(vars: Record<string, unknown>) {
	const engine = upstream(() => Response.json(completion("Hello")));
	const gateway = testGateway({ vars, fetch: engine.fetch });
	return {
		...gateway,
		requests: engine.requests,
		explain: async (model: string, body: unknown = BODY, headers = {}): Promise<Explanation> => {
			const response = await gateway.post(`/explain/${model}`, body, { headers });
			expect(response.status).toBe(200);
			return (await response.json<{ result: Explanation }>()).result;
		},
	};
}

describe("explain", () => {
	it("lists the engines in their order with the reason for each, and calls none", async () => {
		const { explain, requests } = explainer(TWO);
		const { targets, hedge_ms, refused, task } = await explain(LLAMA);
		expect(targets?.map(({ backend, model, why, circuit }) => ({ backend, model, why, circuit }))).toEqual([
			{ backend: "big", model: "llama", why: "weight 3 of 4, one of 2 replicas", circuit: "closed" },
			{ backend: "big", model: "llama", why: "weight 3 of 4, one of 2 replicas", circuit: "closed" },
			{ backend: "spare", model: LLAMA, why: "weight 1 of 4", circuit: "closed" },
			{
				backend: "vectors",
				model: LLAMA,
				why: "passed over: a tei backend has no text-generation",
				circuit: "closed",
			},
		]);
		// Two addresses of one backend are two rows, which can be told apart.
		expect(new Set(targets?.slice(0, 2).map(({ replica }) => replica?.number))).toEqual(new Set([1, 2]));
		expect(targets?.[0]?.replica).toMatchObject({ of: 2, host: expect.stringMatching(/^[\w.:-]+$/) });
		expect({ hedge_ms, refused, task }).toEqual({ hedge_ms: 50, refused: [], task: "Text Generation" });
		expect(requests).toEqual([]);
	});

	it("reports whether inputs are validated as by Workers AI, and refuses the same", async () => {
		const ROUTES = {
			[KIMI]: [{ backend: "spare" }],
			[LLAMA]: { targets: [{ backend: "spare" }], strict: true },
		};
		const { explain } = explainer({ ...TWO, ROUTES, DEFAULT_BACKEND: "simulator" });
		const strictOf = async (model: string) => (await explain(model)).strict;
		expect(await strictOf(KIMI)).toBe(false);
		expect(await strictOf(LLAMA)).toBe(true);
		expect(await strictOf("@cf/qwen/qwen3-30b-a3b-fp8")).toBe(true);
		expect(await explainer(TWO).explain(KIMI)).not.toHaveProperty("strict");
	});

	it("returns how a stream reaches its caller, and why", async () => {
		const targets = [{ backend: "spare" }];
		const { explain } = explainer({
			...TWO,
			ROUTES: {
				[LLAMA]: { targets, passthrough: true },
				[KIMI]: { targets, hedge_ms: 50 },
				[GPT_OSS]: { targets, passthrough: true },
				"@cf/qwen/*": [{ backend: "vectors" }],
				"*": targets,
			},
		});
		const chat = { ...BODY, stream: true };
		const streamOf = async (...request: Parameters<typeof explain>) => (await explain(...request)).stream;
		const ofChat = (model: string, fields = {}) =>
			streamOf("v1/chat/completions", { ...chat, model, ...fields });
		const rewrite = (why: string) => ({ mode: "rewrite", why });

		expect(await ofChat(LLAMA)).toMatchObject({ mode: "passthrough", why: 'the route sets "passthrough"' });
		const ordinary = "@cf/meta/llama-3.1-8b-instruct-fp8";
		const counted = { stream_options: { include_usage: true } };
		expect(await ofChat(ordinary)).toMatchObject(rewrite("the caller does not request usage"));
		expect(await ofChat(ordinary, counted)).toMatchObject(
			rewrite("a model of the catalogue has neurons in its usage"),
		);
		expect(await ofChat(ordinary, { n: 2 })).toMatchObject({
			obstacles: [
				"the caller does not request usage",
				"a model of the catalogue has neurons in its usage",
				"the usage of several choices may have to be added",
				"the engine's last stream was changed, or there was none",
			],
		});
		expect(await ofChat("acme/chat", counted)).toMatchObject(
			rewrite("the engine's last stream was changed, or there was none"),
		);
		expect(await ofChat(KIMI)).toEqual(rewrite('the route sets "hedge_ms"'));
		expect(await ofChat("@cf/qwen/qwen3-30b-a3b-fp8")).toEqual(
			rewrite('not every target is of the kind "openai"'),
		);
		const functions = [{ name: "look_up", parameters: { type: "object" } }];
		expect(await ofChat(LLAMA, { functions })).toEqual(rewrite("calls of `functions` have the older format"));
		const tools = functions.map((declared) => ({ type: "function", function: declared }));
		expect(await ofChat(GPT_OSS, { tools })).toMatchObject({ mode: "passthrough" });
		expect(await ofChat("acme/chat", { ...counted, tools })).toMatchObject(
			rewrite("no stream of the engine with several tool calls was unchanged yet"),
		);
		expect(await ofChat(GPT_OSS, { tools, tool_choice: "required" })).toEqual(
			rewrite("the text of the answer may have to become the forced tool call"),
		);
		const own = rewrite("this interface has its own events");
		expect(await streamOf(LLAMA, chat)).toEqual(own);
		expect(await streamOf("v1/completions", { model: LLAMA, prompt: "Hi", stream: true })).toEqual(own);
		expect(await ofChat(LLAMA, { stream: false })).toBeUndefined();
		expect(await streamOf(LLAMA, { messages: 5 })).toBeUndefined();
	});

	it("returns how a passthrough stream of the request would differ", async () => {
		const ALWAYS = [
			"an engine's error inside the stream is sent unredacted",
			"an incomplete or malformed event is sent before the error",
			"without usage from the engine there is no usage chunk",
		];
		const { explain } = explainer({
			...TWO,
			ROUTES: {
				[LLAMA]: [{ backend: "big", model: "llama" }, { backend: "spare" }],
				"acme/chat": { targets: [{ backend: "spare" }], passthrough: true },
			},
		});
		const differencesOf = async (fields: object) =>
			(await explain("v1/chat/completions", { ...BODY, stream: true, ...fields })).stream?.differences;
		expect(await differencesOf({ model: LLAMA })).toEqual([
			...ALWAYS,
			"chunks have the engine's name of the model",
			"the engine's usage chunk is sent, although it is not requested",
			"the stream has no neurons",
			"no other target continues the stream",
		]);
		const stream_options = { include_usage: true };
		expect(await differencesOf({ model: "acme/chat", stream_options })).toEqual(ALWAYS);
	});

	it("reads the body of an OpenAI route as that route does", async () => {
		const { explain } = explainer(ENGINE_VARS);
		const asked = { ...BODY, max_tokens: undefined, max_completion_tokens: 77, model: LLAMA };
		expect(await explain("v1/chat/completions", asked)).toMatchObject({
			model: LLAMA,
			estimate: { output_tokens: 77, output_open: false },
			refused: [],
		});
		expect((await explain("v1/embeddings", { model: LLAMA, input: "Hi" })).refused).toMatchObject([
			{ step: "parse", code: 5007 },
		]);
		const unknown = await explainer(TWO).explain("v1/chat/completions", { ...asked, model: "@cf/no/such" });
		expect(unknown.refused).toMatchObject([{ step: "authorize", code: 5007 }]);
	});

	it.each(["images/generations", "messages/count_tokens", "audio/transcriptions", "chat/completion", "x/"])(
		"takes v1/%s for no model",
		async (path) => {
			const { post } = testGateway({ vars: TWO });
			const response = await post(`/explain/v1/${path}`, { ...BODY, model: LLAMA });
			expect(await failureOf(response)).toBe(
				"400 7000: No route for that URI: below /ai/explain/v1 there are chat/completions, completions, responses, messages, v1/messages, embeddings, moderations, rerank, decisions, systemone, audio/speech; a model is explained at /ai/explain/{model}",
			);
		},
	);

	it("takes v1/… for a model where a route has that name", async () => {
		const { explain } = explainer({ ...TWO, ROUTES: { "v1/mine": [{ backend: "spare", model: "one" }] } });
		expect(await explain("v1/mine")).toMatchObject({ model: "v1/mine", targets: [{ model: "one" }] });
	});

	it("explains the order of targets without weights by the order of the route", async () => {
		const targets = [
			{ backend: "spare", model: "one" },
			{ backend: "spare", model: "two" },
		];
		const plan = await explainer({ ...TWO, ROUTES: { [LLAMA]: targets } }).explain(LLAMA);
		expect(plan.targets?.map(({ model, why }) => [model, why])).toEqual([
			["one", "in the order of the route"],
			["two", "in the order of the route"],
		]);
		const mixed = [{ ...targets[0], weight: 1 }, targets[1]];
		const weighed = await explainer({ ...TWO, ROUTES: { [LLAMA]: mixed } }).explain(LLAMA);
		expect(weighed.targets?.map(({ why }) => why)).toEqual([
			"weight 1 of 1",
			"stands in, in the order of the route",
		]);
	});

	it("reports the price of the model, or that it is missing", async () => {
		const free = await explainer(ENGINE_VARS).explain("mine");
		expect(free.price).toEqual({
			source: "none",
			rows: [],
			note: 'No price is set. A token with a budget gets 2021, and other requests cost 0 neurons: set BACKENDS.{name}.price or MODELS["mine"].prices',
		});
		const simulated = explainer({
			BACKENDS: { sim: { kind: "simulator" } },
			ROUTES: { "@cf/*": [{ backend: "sim" }] },
		});
		expect((await simulated.explain("@cf/anything/at-all")).price?.note).toMatch(
			/^No price is set. A request costs 0 neurons on the simulator\. On an engine, a token with a budget gets 2021: set /,
		);
		const { explain, post } = explainer({ ...ENGINE_VARS, LIMITS: { daily_neurons: 10 } });
		expect((await explain("mine")).price).toMatchObject({
			source: "default",
			rows: [
				{ unit: "per M input tokens", neurons: 25_000 },
				{ unit: "per M output tokens", neurons: 75_000 },
			],
		});
		expect((await explain(LLAMA)).price).toMatchObject({ source: "model" });
		const huge = { ...BODY, max_tokens: 1_000 };
		expect((await post("/run/mine", huge)).status).toBe(429);
		// 3 tokens in, 2 out: (3 * 25000 + 2 * 75000) / 1000000.
		expect((await post("/run/mine", { ...BODY, max_tokens: 5 })).headers.get("cf-ai-neurons")).toBe("0.22");
	});

	it("refuses for a budget in the words that the caller would read", async () => {
		const { explain, post } = explainer({ ...ENGINE_VARS, LIMITS: { daily_neurons: 0.1 } });
		const [refused] = (await explain(LLAMA)).refused;
		expect(refused?.message).toMatch(
			/^This request may cost [\d.]+ neurons; the daily budget of this account/,
		);
		const refusal = await (await post(`/run/${LLAMA}`, BODY)).json<{ errors: { message: string }[] }>();
		expect(refusal.errors[0]?.message).toContain(refused?.message);
	});

	it("gives the reason that the caller would be given, where there are several", async () => {
		const rates = { requests_per_minute: { "Text Generation": 1 } };
		const { explain, post } = explainer({ ...ENGINE_VARS, LIMITS: { daily_neurons: 35, ...rates } });
		expect((await post(`/run/${LLAMA}`, BODY)).status).toBe(200);
		// The rate is open again sooner than the budget.
		const [{ code } = {}, ...others] = (await explain(LLAMA, { ...BODY, max_tokens: 1000 })).refused;
		const refusal = await post(`/run/${LLAMA}`, { ...BODY, max_tokens: 1000 });
		expect((await refusal.json<{ errors: { code: number }[] }>()).errors).toMatchObject([{ code: 3036 }]);
		expect({ code, others }).toEqual({ code: 3036, others: [] });
	});

	it("reports that a token with its own budget cannot use a model without a price", async () => {
		const KEYS = { OPENAI_API_KEY: "sk-openai", PROVIDER_KEYS: { openai: "OPENAI_API_KEY" } };
		const { send, createToken } = closedGateway({ vars: KEYS });
		const token = await createToken(["Workers AI Read"], { limits: { daily_neurons: 100 } });
		const response = await send("/ai/explain/openai/gpt-next", token, json("POST", BODY));
		const { result } = await response.json<{ result: Explanation }>();
		const [refused, ...others] = result.refused;
		expect(others).toEqual([]);
		expect(refused).toMatchObject({ step: "admit", code: 2021, status: 402 });
		const refusal = await send("/ai/run/openai/gpt-next", token, json("POST", BODY));
		expect(refusal.status).toBe(402);
		expect(await refusal.json()).toMatchObject({ errors: [{ code: 2021, message: refused?.message }] });
	});

	it("shows neither address nor key of an engine", async () => {
		const text = JSON.stringify(await explainer(TWO).explain(LLAMA));
		expect(text).not.toMatch(/sk-engine|http:/);
	});

	it("reports the reservation, and the remaining budget", async () => {
		const limits = { plan: "paid", daily_neurons: 1000, requests_per_minute: { "Text Generation": 5 } };
		const { explain, post } = explainer({ ...ENGINE_VARS, LIMITS: limits });
		const before = await explain(LLAMA);
		expect(before.estimate).toMatchObject({
			// A token a byte at most, and what templates add.
			input_tokens: 256 + 16 + 2,
			output_tokens: 100,
			output_open: false,
		});
		expect(before.estimate?.neurons).toBeGreaterThan(20.48);
		expect(before.limits).toEqual({
			rates: [{ key: "task:Text Generation", per_minute: 5, used: 0, room: 5 }],
			budgets: [{ key: "account", neurons: 1000, spent: 0, reserved: 0, room: 1000 }],
		});
		expect((await post(`/run/${LLAMA}`, BODY)).headers.get("cf-ai-neurons")).toBe("0.48");
		// The settlement goes with the next call of the account.
		await post(`/run/${LLAMA}`, BODY);
		const after = await explain(LLAMA);
		expect(after.limits?.rates[0]).toMatchObject({ used: 2, room: 3 });
		expect(after.limits?.budgets[0]?.spent).toBeGreaterThanOrEqual(0.48);
	});

	it("reports the refusal of each step, and continues with the next one", async () => {
		const { explain } = explainer({ ...ENGINE_VARS, LIMITS: { plan: "free", daily_neurons: 0.1 } });
		expect((await explainer(TWO).explain("@cf/no/such")).refused).toMatchObject([
			{ step: "authorize", code: 5007 },
		]);
		expect((await explain(LLAMA, { messages: 5 })).refused).toMatchObject([{ step: "parse", code: 5006 }]);
		expect((await explain(LLAMA)).refused).toMatchObject([{ step: "admit", code: 4006, status: 429 }]);
		const kimi = await explain(KIMI, BODY);
		expect(kimi.refused).toMatchObject([{ step: "plan", code: 5035 }, { step: "admit" }]);
		expect(kimi.targets).toHaveLength(1);
	});

	it("requires a token for each choice of an unlimited request, as admission does", async () => {
		const open = { messages: BODY.messages, n: 4 };
		const prices = [{ unit: "per M output tokens", neurons: 1_000_000 }];
		const vars = (daily_neurons: number) => ({
			...ENGINE_VARS,
			MODELS: { mine: { task: "Text Generation", prices } },
			LIMITS: { plan: "paid", daily_neurons },
		});
		for (const [room, codes, status] of [
			[3, [3036], 429],
			[4, [], 200],
		] as const) {
			const { explain, post } = explainer(vars(room));
			expect((await explain("mine", open)).refused.map(({ code }) => code)).toEqual(codes);
			expect((await post("/run/mine", open)).status).toBe(status);
		}
	});

	it("reports a missing permission to run", async () => {
		const { send, createToken } = closedGateway({ vars: ENGINE_VARS });
		const explainAs = async (group: string) => {
			const response = await send(`/ai/explain/${LLAMA}`, await createToken([group]), json("POST", BODY));
			return (await response.json<{ result: Explanation }>()).result.refused;
		};
		expect(await explainAs("Workers AI Metadata Read")).toMatchObject([
			{ step: "admit", code: 10000, status: 403 },
		]);
		expect(await explainAs("Workers AI Read")).toEqual([]);
	});

	it("has one key for the same question, and none for a stream", async () => {
		const { explain } = explainer(ENGINE_VARS);
		const { cache_key: key } = await explain(LLAMA);
		expect(key).toMatch(/^[0-9a-f]{64}$/);
		expect((await explain(LLAMA)).cache_key).toBe(key);
		expect((await explain(LLAMA, { ...BODY, max_tokens: 99 })).cache_key).not.toBe(key);
		expect(await explain(LLAMA, { ...BODY, stream: true })).not.toHaveProperty("cache_key");
	});
});
