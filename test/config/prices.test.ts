import { describe, expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";
import { warningsOf } from "../../src/config/warnings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8-fast";

const vars = (more: object = {}, price?: object) => ({
	BACKENDS: {
		vllm: { kind: "openai", url: "http://localhost:8000/v1", ...(price && { price }) },
		spare: { kind: "openai", url: "http://localhost:8001/v1" },
	},
	ROUTES: { mine: [{ backend: "vllm" }], "own/*": [{ backend: "vllm" }], [LLAMA]: [{ backend: "vllm" }] },
	...more,
});

const rowsOf = (variables: object, id: string): Record<string, number> => {
	const { catalog } = configure(variables);
	const { prices } = catalog.find(id) ?? catalog.adHoc(id);
	return Object.fromEntries(prices.map(({ unit, neurons }) => [unit, neurons]));
};

const DEFAULT = { "per M input tokens": 25_000, "per M output tokens": 75_000 };

describe("a model without a price", () => {
	it.each([
		["of everyone", { daily_neurons: 5 }],
		["of the free plan", { plan: "free" }],
		["of a model", { models: { mine: { daily_neurons: 5 } } }],
		["of one account", { accounts: { a: { daily_neurons: 5 } } }],
		["of one account's model", { accounts: { a: { models: { mine: { daily_neurons: 5 } } } } }],
	])("costs the default where LIMITS has a budget: %s", (_, LIMITS) => {
		expect(rowsOf(vars({ LIMITS }), "mine")).toEqual(DEFAULT);
		expect(rowsOf(vars({ LIMITS }), "own/any")).toEqual(DEFAULT);
	});

	it("costs nothing where no budget could count it", () => {
		expect(rowsOf(vars(), "mine")).toEqual({});
	});

	it("costs the price of its backend, with and without a budget, 0 included", () => {
		const price = { input: 1_000, output: 3_000 };
		const rows = { "per M input tokens": 1_000, "per M output tokens": 3_000 };
		for (const more of [{}, { LIMITS: { daily_neurons: 5 } }])
			expect(rowsOf(vars(more, price), "mine")).toEqual(rows);
		const free = vars({ LIMITS: { daily_neurons: 5 } }, { input: 0, output: 0 });
		expect(rowsOf(free, "mine")).toEqual({ "per M input tokens": 0, "per M output tokens": 0 });
	});

	it("costs the highest price of its targets, so that what is reserved covers each", () => {
		const ROUTES = { mine: [{ backend: "vllm" }, { backend: "spare" }] };
		const both = vars({ ROUTES, LIMITS: { daily_neurons: 5 } }, { input: 90_000, output: 10, request: 1 });
		expect(rowsOf(both, "mine")).toEqual({
			"per M input tokens": 90_000,
			"per M output tokens": 75_000,
			"per inference request": 1,
		});
	});

	it("costs by the request where its task has no tokens, also beside a price of tokens", () => {
		const MODELS = { painter: { task: "Text-to-Image" } };
		const ROUTES = { painter: [{ backend: "vllm" }] };
		const LIMITS = { daily_neurons: 5 };
		expect(rowsOf(vars({ MODELS, ROUTES, LIMITS }), "painter")).toEqual({ "per inference request": 200 });
		expect(rowsOf(vars({ MODELS, ROUTES, LIMITS }, { input: 1 }), "painter")).toEqual({
			"per inference request": 200,
		});
		expect(rowsOf(vars({ MODELS, ROUTES, LIMITS }, { request: 7 }), "painter")).toEqual({
			"per inference request": 7,
		});
	});

	it("is free on the simulator, and unknown at a provider, which a budget refuses", () => {
		const LIMITS = { daily_neurons: 5 };
		expect(rowsOf({ LIMITS, ROUTES: { mine: [{ backend: "simulator" }] } }, "mine")).toEqual({});
		const PROVIDER_KEYS = { openai: "KEY" };
		expect(rowsOf({ LIMITS, PROVIDER_KEYS, KEY: "sk-1" }, "openai/gpt-next")).toEqual({});
	});

	it("leaves a price of the catalogue and of MODELS alone", () => {
		const before = rowsOf(vars(), LLAMA);
		expect(rowsOf(vars({ LIMITS: { daily_neurons: 5 } }, { input: 1, output: 1 }), LLAMA)).toEqual(before);
		const prices = [{ unit: "per M input tokens", neurons: 3 }];
		const MODELS = { mine: { task: "Text Generation", prices } };
		expect(rowsOf(vars({ MODELS, LIMITS: { daily_neurons: 5 } }), "mine")).toEqual({
			"per M input tokens": 3,
		});
	});
});

describe("warningsOf", () => {
	const warnings = (variables: object) => warningsOf(configure(variables));

	it("names the models that have the default price, only if there is one", () => {
		expect(warnings(vars({ LIMITS: { daily_neurons: 5 } }))).toEqual([
			'BACKENDS.vllm: no price is set, and LIMITS has a budget. What mine and own/* serves, where neither the catalogue nor MODELS has a price, costs the default: 25000 neurons per M input tokens, 75000 per M output tokens, 200 per request without tokens. Set "price" ({"input": 0, "output": 0} for free)',
		]);
		expect(warnings(vars())).toEqual([]);
		expect(warnings(vars({ LIMITS: { daily_neurons: 5 } }, { input: 1, output: 1 }))).toEqual([]);
	});

	it("names limits of models that do not exist, and of aliases", () => {
		const id = "@cf/meta/llama-3.1-8b-instruct-fp8-fast";
		const models = { [id]: {}, [`${id}t`]: {}, "acme/chat": {}, quick: {} };
		const LIMITS = { models, accounts: { a: { models: { "@cf/meta/lama-3.1-8b-instruct-fp8-fast": {} } } } };
		expect(warnings(vars({ LIMITS, ALIASES: { quick: id } }))).toEqual([
			`LIMITS.models["${id}t"]: the catalogue has no such model, so the limit has no effect; did you mean "${id}"?`,
			`LIMITS.models.quick: an alias is no model, so the limit has no effect; did you mean "${id}"?`,
			`LIMITS.accounts.a.models["@cf/meta/lama-3.1-8b-instruct-fp8-fast"]: the catalogue has no such model, so the limit has no effect; did you mean "${id}"?`,
		]);
	});

	it("suggests an id of the catalogue for a similar one, and for no other", () => {
		const ROUTES = {
			"@cf/meta/llama-3.1-8b-instruct-fp8-fsat": [{ backend: "vllm" }],
			"@cf/mata/*": [{ backend: "vllm" }],
			"llama3.2": [{ backend: "vllm" }],
			"acme-*": [{ backend: "vllm" }],
		};
		expect(warnings(vars({ ROUTES }))).toEqual([
			'ROUTES["@cf/meta/llama-3.1-8b-instruct-fp8-fsat"]: the catalogue has no such model; did you mean "@cf/meta/llama-3.1-8b-instruct-fp8-fast"? Served as a text model of your own',
			'ROUTES["@cf/mata/*"]: no model of the catalogue matches',
		]);
	});
});
