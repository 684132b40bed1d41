import { describe, expect, it } from "vitest";
import type { AccountLedger, Admission, AdmissionGrant } from "../../src/accounts/admission.ts";
import { configure } from "../../src/config/index.ts";
import { AiError, type FailureKey } from "../../src/core/errors.ts";
import { Catalog } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { admissionOf, admit } from "../../src/pipeline/admit.ts";
import { limitsOf } from "../../src/pipeline/limits.ts";
import { estimateCost, refuseByPlan } from "../../src/pipeline/prepare.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import { observedExchange } from "./exchanges.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const OPERATOR = { kind: "operator" } as const;
const CHAT: TaskCall<"text-generation"> = {
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false },
};

function model(id: string): Model {
	const found = new Catalog().find(id);
	if (!found) throw new Error(`no ${id}`);
	return found;
}

const REQUEST = { id: "ticket", caller: { account: "team-a", credential: OPERATOR } };

/** A call as the steps before admission leave it. */
async function prepared(id: string, call: TaskCall, { catalog, routing }: ReturnType<typeof configure>) {
	const routed = routing.find(id);
	const found = catalog.find(id) ?? catalog.adHoc(id);
	return { call, model: found, routed, estimated: await estimateCost(call, found, routed) };
}

const admissionWith = async (id: string, LIMITS: object = {}, call: TaskCall = CHAT) => {
	const config = configure({ LIMITS });
	return admissionOf(REQUEST, await prepared(id, call, config), config.limits);
};

describe("admission", () => {
	it("counts a request against its task's rate, or against its model's own", async () => {
		expect((await admissionWith(LLAMA)).rates).toEqual([{ key: "task:Text Generation", perMinute: 300 }]);
		expect((await admissionWith(KIMI)).rates).toEqual([{ key: `model:${KIMI}`, perMinute: 20 }]);
		expect((await admissionWith("@cf/baai/bge-large-en-v1.5")).rates).toEqual([
			{ key: "model:@cf/baai/bge-large-en-v1.5", perMinute: 1500 },
		]);
		expect((await admissionWith("@cf/deepgram/aura-1")).rates).toEqual([]);
	});

	it("takes the operator's rates instead", async () => {
		const rates = { requests_per_minute: { "Text Generation": 7 } };
		expect((await admissionWith(KIMI, rates)).rates).toEqual([{ key: "task:Text Generation", perMinute: 7 }]);
		expect((await admissionWith("@cf/baai/bge-m3", rates)).rates).toEqual([]);
		const own = { models: { [LLAMA]: { requests_per_minute: 2 } } };
		expect((await admissionWith(LLAMA, own)).rates).toEqual([{ key: `model:${LLAMA}`, perMinute: 2 }]);
		expect((await admissionWith(LLAMA, { requests_per_minute: "none" })).rates).toEqual([]);
	});

	it("has the budgets, with the failure of each", async () => {
		expect((await admissionWith(LLAMA)).budgets).toEqual([]);
		expect((await admissionWith(LLAMA, { plan: "free" })).budgets).toEqual([
			{ key: "account", microNeurons: 10_000_000_000, failure: "freeAllocationUsed" },
		]);
		const own = { daily_neurons: 1.5, models: { [LLAMA]: { daily_neurons: 0.000001 } } };
		expect((await admissionWith(LLAMA, own)).budgets).toEqual([
			{ key: "account", microNeurons: 1_500_000, failure: "budgetExceeded" },
			{ key: `model:${LLAMA}`, microNeurons: 1, failure: "budgetExceeded" },
		]);
	});

	it("reserves the requested output, at the model's price", async () => {
		const sent: TaskCall = { ...CHAT, input: { ...CHAT.input, max_tokens: 100, n: 2 } };
		const bounded = await admissionWith(LLAMA, {}, sent);
		expect(bounded.cost).toMatchObject({
			outputTokens: 200,
			microNeuronsPerOutputToken: 204_805,
			outputUnbounded: false,
		});
		expect(bounded.cost.fixedMicroNeurons).toBeGreaterThan(0);
		expect((await admissionWith("@cf/moonshotai/kimi-k2.5")).cost).toMatchObject({ outputUnbounded: true });
		const choices: TaskCall = { ...CHAT, input: { ...CHAT.input, n: 3 } };
		expect((await admissionWith("@cf/moonshotai/kimi-k2.5", {}, choices)).cost).toMatchObject({
			outputTokens: 3 * 4_096,
			minOutputTokens: 3,
			outputUnbounded: true,
		});
	});

	it("keeps models of the paid plan from the free one", () => {
		const limits = (plan: string) => limitsOf(configure({ LIMITS: { plan } }).limits, "a");
		expect(() => refuseByPlan(model(KIMI), limits("free"), undefined)).toThrow(
			`5035: Model ${KIMI} is not available on the Workers Free plan`,
		);
		expect(() => refuseByPlan(model(KIMI), limits("paid"), undefined)).not.toThrow();
		expect(() => refuseByPlan(model(LLAMA), limits("free"), undefined)).not.toThrow();
	});

	describe("of a model without a price", () => {
		const BACKENDS = {
			vllm: { kind: "openai", url: "http://localhost:8000" },
			groqs: { kind: "openai", urls: ["http://localhost:8001", "https://api.groq.com/openai/v1"] },
			claude: { kind: "anthropic" },
			cloud: { kind: "workers-ai", url: "https://api.cloudflare.com/client/v4/accounts/a/ai" },
			bound: { kind: "workers-ai", binding: "AI" },
		};
		const VARS = {
			AI: { run: async () => new Response() },
			KEY: "a-key",
			PROVIDER_KEYS: { alibaba: "KEY", anthropic: "KEY", openai: "KEY", xai: "KEY", openrouter: "KEY" },
			BACKENDS,
			ROUTES: {
				"google/gemma": [{ backend: "vllm" }],
				"openai/gpt-oss": [{ backend: "vllm" }],
				llama: [{ backend: "vllm" }],
				fast: [{ backend: "groqs" }],
				either: { targets: [{ backend: "vllm" }, { backend: "claude" }] },
				"@cf/deepseek-ai/deepseek-math-7b-instruct": [{ backend: "cloud" }],
				"@cf/meta/new": [{ backend: "bound" }],
				clouded: [{ backend: "cloud" }],
				"moonshotai/bound": [{ backend: "bound" }],
			},
			MODELS: {
				"xai/grok-4.20-0309-reasoning": { prices: [{ unit: "per M input tokens", neurons: 0 }] },
				"openai/gpt-5": { prices: [] },
			},
		};
		const check = (id: string, LIMITS: object) => {
			const { catalog, limits, routing } = configure({ ...VARS, LIMITS });
			refuseByPlan(catalog.find(id) ?? catalog.adHoc(id), limitsOf(limits, "a"), routing.find(id));
		};
		const UNPRICED = "alibaba/qwen3.8-max";

		it.each<object>([
			{ plan: "free" },
			{ daily_neurons: 5 },
			{ accounts: { a: { daily_neurons: 5 } } },
			{ models: { [UNPRICED]: { daily_neurons: 1 } } },
		])("keeps a provider's from whoever has a budget: %j", (limits) => {
			expect(() => check(UNPRICED, limits)).toThrow(
				`2021: Insufficient AI Gateway credits: the account has a budget of neurons, and ${UNPRICED} has no price (set BACKENDS.{name}.price or MODELS["${UNPRICED}"].prices)`,
			);
		});

		it.each([
			// One of tomorrow, one whose price the operator took away, and one of a provider of everybody's models.
			"anthropic/claude-next",
			"openai/gpt-5",
			"openrouter/meta/llama",
			// By the engine's address, whatever the name: also where only one of several is a provider's.
			"fast",
			"either",
			"clouded",
			"moonshotai/bound",
		])("keeps %s to who has no budget", (id) => {
			expect(() => check(id, { daily_neurons: 5 })).toThrow("2021");
			expect(() => check(id, {})).not.toThrow();
		});

		it.each([
			// Priced, by the catalogue or for nothing by the operator.
			"anthropic/claude-haiku-4.5",
			"xai/grok-4.20-0309-reasoning",
			// One's own engines, whatever the name.
			"google/gemma",
			"openai/gpt-oss",
			"llama",
			// The product's, for which it takes nothing.
			"@cf/deepseek-ai/deepseek-math-7b-instruct",
			"@cf/meta/new",
		])("lets %s pass", (id) => {
			expect(() => check(id, { daily_neurons: 5 })).not.toThrow();
		});

		it("is reported to the account's object, which knows the token's own budget", async () => {
			const config = configure(VARS);
			const unpricedFor = async (id: string, credential: Admission["credential"]) => {
				const request = { id: "ticket", caller: { account: "a", credential } };
				return admissionOf(request, await prepared(id, CHAT, config), config.limits).unpriced;
			};
			const token = { kind: "token", hash: "00" } as const;
			expect(await unpricedFor("fast", token)).toBe(true);
			// An engine of the operator: its cost is unknown too, and a token's budget must not count 0.
			expect(await unpricedFor("llama", token)).toBe(true);
			expect(await unpricedFor("fast", OPERATOR)).toBeUndefined();
		});
	});
});

describe("admit", () => {
	/** Admits a request with an account's object of the test. */
	const admitWith = async (
		ledger: Pick<AccountLedger, "admit">,
		{ variables = {}, call = CHAT }: { variables?: object; call?: TaskCall } = {},
	) => {
		const config = configure({ ...variables });
		const { exchange } = observedExchange({ ledger });
		const admitted = admit(exchange, REQUEST, await prepared(LLAMA, call, config), config);
		return { exchange, admitted };
	};
	const admissionFor = async (variables: Record<string, unknown>): Promise<Admission> => {
		const seen: Admission[] = [];
		const ledger = {
			admit: async (asked: Admission) => {
				seen.push(asked);
				return {};
			},
		};
		await (await admitWith(ledger, { variables })).admitted;
		const [only, ...others] = seen;
		if (!only || others.length > 0) throw new Error(`${seen.length} admissions`);
		return only;
	};

	it("has the time after which an unsettled reservation expires", async () => {
		expect(await admissionFor({ LIMITS: { hold_ms: 1_234 } })).toMatchObject({
			ticket: "ticket",
			holdMs: 1_234,
		});
	});

	it.each<[FailureKey, boolean]>([
		["rateLimited", true],
		["authentication", true],
		["ledgerUnavailable", false],
	])("takes a credential as verified if the account has answered: %s", async (key, credentialVerified) => {
		const refusal = new AiError(key);
		const { admitted, exchange } = await admitWith({
			admit: () => Promise.reject(refusal),
		});
		await expect(admitted).rejects.toBe(refusal);
		expect(exchange.fail(refusal).exchange).toEqual({ attempts: 0, isAdmitted: false, credentialVerified });
	});

	describe("whose output the account bounds", () => {
		const boundedCall = async (granted: AdmissionGrant, call: TaskCall = CHAT): Promise<TaskCall> => {
			const ledger = { admit: async () => granted };
			return (await admitWith(ledger, { call })).admitted;
		};
		const maxTokens = (call: TaskCall) =>
			call.task === "text-generation" ? call.input.max_tokens : undefined;

		it("has the granted output", async () => {
			expect(maxTokens(await boundedCall({ outputTokens: 40 }))).toBe(40);
			expect(maxTokens(await boundedCall({}))).toBeUndefined();
		});

		it("shares a smaller grant between the choices, and raises no limit of the caller's", async () => {
			const call = { ...CHAT, input: { ...CHAT.input, n: 3, max_tokens: 30 } };
			expect(maxTokens(await boundedCall({ outputTokens: 256 }, call))).toBe(30);
			expect(maxTokens(await boundedCall({ outputTokens: 40 }, call))).toBe(13);
			expect(maxTokens(await boundedCall({ outputTokens: 2 }, call))).toBe(1);
		});
	});

	it("reserves for two engines where a route hedges between two", async () => {
		const engine = (...ports: number[]) => ({
			kind: "openai",
			urls: ports.map((port) => `http://localhost:${port}`),
		});
		const BACKENDS = { a: engine(1), b: engine(2), replicas: engine(3, 4) };
		const worthAt = async (settings: object, ...backends: string[]) => {
			const targets = backends.map((backend) => ({ backend }));
			return (await admissionFor({ BACKENDS, ROUTES: { [LLAMA]: { targets, ...settings } } })).cost;
		};
		const once = await worthAt({}, "a", "b");
		const twice = {
			...once,
			fixedMicroNeurons: 2 * once.fixedMicroNeurons,
			microNeuronsPerOutputToken: 2 * once.microNeuronsPerOutputToken,
		};
		const hedge_ms = 100;
		expect(await worthAt({ hedge_ms }, "a", "b")).toEqual(twice);
		expect(await worthAt({ hedge_ms }, "replicas")).toEqual(twice);
		expect(await worthAt({ hedge_ms }, "a")).toEqual(once);
	});
});
