import { describe, expect, it } from "vitest";
import { configure } from "../../src/config.ts";
import { Catalog } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import type { Accounts } from "../../src/objects/accounts.ts";
import type { Admission } from "../../src/objects/admission.ts";
import { admission, admit, checkPlan, limitsOf } from "../../src/pipeline/admit.ts";
import type { TaskCall } from "../../src/tasks/task.ts";

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

const asked = async (id: string, LIMITS: object = {}, call: TaskCall = CHAT) =>
	admission("ticket", OPERATOR, model(id), call, limitsOf(configure({ LIMITS }).limits, "team-a"));

describe("admission", () => {
	it("counts a request against its task's rate, or against its model's own", async () => {
		expect((await asked(LLAMA)).rates).toEqual([{ key: "task:Text Generation", perMinute: 300 }]);
		expect((await asked(KIMI)).rates).toEqual([{ key: `model:${KIMI}`, perMinute: 20 }]);
		expect((await asked("@cf/baai/bge-large-en-v1.5")).rates).toEqual([
			{ key: "model:@cf/baai/bge-large-en-v1.5", perMinute: 1500 },
		]);
		expect((await asked("@cf/deepgram/aura-1")).rates).toEqual([]);
	});

	it("takes the operator's rates instead", async () => {
		const rates = { requests_per_minute: { "Text Generation": 7 } };
		expect((await asked(KIMI, rates)).rates).toEqual([{ key: "task:Text Generation", perMinute: 7 }]);
		expect((await asked("@cf/baai/bge-m3", rates)).rates).toEqual([]);
		const own = { models: { [LLAMA]: { requests_per_minute: 2 } } };
		expect((await asked(LLAMA, own)).rates).toEqual([{ key: `model:${LLAMA}`, perMinute: 2 }]);
		expect((await asked(LLAMA, { requests_per_minute: "none" })).rates).toEqual([]);
	});

	it("names the budgets, and what each tells when it is used up", async () => {
		expect((await asked(LLAMA)).budgets).toEqual([]);
		expect((await asked(LLAMA, { plan: "free" })).budgets).toEqual([
			{ key: "account", microNeurons: 10_000_000_000, failure: "freeAllocationUsed" },
		]);
		const own = { daily_neurons: 1.5, models: { [LLAMA]: { daily_neurons: 0.000001 } } };
		expect((await asked(LLAMA, own)).budgets).toEqual([
			{ key: "account", microNeurons: 1_500_000, failure: "budgetExceeded" },
			{ key: `model:${LLAMA}`, microNeurons: 1, failure: "budgetExceeded" },
		]);
	});

	it("reserves the output that may be asked for, at the model's price", async () => {
		const sent: TaskCall = { ...CHAT, input: { ...CHAT.input, max_tokens: 100, n: 2 } };
		const bounded = await asked(LLAMA, {}, sent);
		expect(bounded.worth).toMatchObject({
			outputTokens: 200,
			microNeuronsPerOutputToken: 204_805,
			open: false,
		});
		expect(bounded.worth.fixedMicroNeurons).toBeGreaterThan(0);
		expect((await asked("@cf/moonshotai/kimi-k2.5")).worth).toMatchObject({ open: true });
		const choices: TaskCall = { ...CHAT, input: { ...CHAT.input, n: 3 } };
		expect((await asked("@cf/moonshotai/kimi-k2.5", {}, choices)).worth).toMatchObject({
			outputTokens: 3 * 4_096,
			leastOutputTokens: 3,
			open: true,
		});
	});

	it("keeps models of the paid plan from the free one", () => {
		const limits = (plan: string) => limitsOf(configure({ LIMITS: { plan } }).limits, "a");
		expect(() => checkPlan(model(KIMI), limits("free"))).toThrow(
			`5035: Model ${KIMI} is not available on the Workers Free plan`,
		);
		expect(() => checkPlan(model(KIMI), limits("paid"))).not.toThrow();
		expect(() => checkPlan(model(LLAMA), limits("free"))).not.toThrow();
	});

	it("keeps a third party's model without a price from whoever has a budget", () => {
		const { catalog } = configure({
			MODELS: {
				"xai/grok-4.20-0309-reasoning": { prices: [{ unit: "per M input tokens", neurons: 0 }] },
				"openai/gpt-5": { prices: [] },
			},
		});
		const check = (id: string, LIMITS: object) =>
			checkPlan(catalog.find(id) ?? catalog.adHoc(id), limitsOf(configure({ LIMITS }).limits, "a"));
		const unpriced = "alibaba/qwen3-max";
		const budgets = [
			{ plan: "free" },
			{ daily_neurons: 5 },
			{ accounts: { a: { daily_neurons: 5 } } },
			{ models: { [unpriced]: { daily_neurons: 1 } } },
		];
		for (const limits of budgets)
			expect(() => check(unpriced, limits)).toThrow(
				`2021: Insufficient AI Gateway credits: the account has a budget of neurons, and nothing says what ${unpriced} costs (see MODELS["${unpriced}"].prices)`,
			);
		// One of tomorrow, and one whose price the operator took away.
		for (const id of ["anthropic/claude-next", "openai/gpt-5"])
			expect(() => check(id, { daily_neurons: 5 })).toThrow("2021");
		for (const id of [unpriced, "anthropic/claude-next"]) expect(() => check(id, {})).not.toThrow();
		// Priced, by the catalogue or for nothing by the operator; or an engine's own.
		for (const id of [
			"anthropic/claude-haiku-4.5",
			"xai/grok-4.20-0309-reasoning",
			"llama3.2",
			"Qwen/Qwen3-8B",
		])
			expect(() => check(id, { daily_neurons: 5 })).not.toThrow();
	});
});

describe("admit", () => {
	const admissionOf = async (variables: Record<string, unknown>): Promise<Admission> => {
		const seen: Admission[] = [];
		const ledger = {
			admit: async (asked: Admission) => {
				seen.push(asked);
				return {};
			},
		};
		const { limits, routing } = configure(variables);
		const services = {
			ledgers: { of: () => ledger } as unknown as Accounts,
			limits,
			routing,
			now: () => 0,
			waitUntil: () => {},
		};
		const caller = { account: "team-a", credential: OPERATOR };
		await admit({ id: "ticket", caller }, model(LLAMA), CHAT, services);
		const [only, ...others] = seen;
		if (!only || others.length > 0) throw new Error(`${seen.length} admissions`);
		return only;
	};

	it("says how long to hold what nobody settles", async () => {
		expect(await admissionOf({ LIMITS: { hold_ms: 1_234 } })).toMatchObject({
			ticket: "ticket",
			holdMs: 1_234,
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
			return (await admissionOf({ BACKENDS, ROUTES: { [LLAMA]: { targets, ...settings } } })).worth;
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
