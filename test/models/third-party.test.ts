import { describe, expect, it } from "vitest";
import { adHocModel, Catalog, PRODUCT_MODELS } from "../../src/models/catalog.ts";
import { inputsOf, outputsOf } from "../../src/models/family.ts";
import { Model } from "../../src/models/model.ts";
import { neurons, type Quantities, USD_PER_NEURON } from "../../src/models/neurons.ts";
import { search } from "../../src/models/search.ts";
import rows from "../../src/models/third-party.json" with { type: "json" };
import {
	authorOf,
	chatShapesOf,
	isThirdPartyId,
	THIRD_PARTY_AUTHORS,
	THIRD_PARTY_IDS,
	THIRD_PARTY_SOURCE,
	thirdPartyModel,
	unservedTask,
} from "../../src/models/third-party.ts";
import unserved from "../../src/models/third-party-unserved.json" with { type: "json" };
import { nameUuid } from "../../src/models/uuid.ts";

const found = (id: string): Model => {
	const model = new Catalog().find(id);
	if (!model) throw new Error(`${id} is not in the catalogue`);
	return model;
};

describe("third-party.json", () => {
	it.each(THIRD_PARTY_IDS)("%s satisfies the schema", (id) => {
		expect(Model.parse(thirdPartyModel(id))).toEqual(thirdPartyModel(id));
	});

	it("has the fields of the product's list", () => {
		const common = {
			source: 3,
			created: "",
			description: "",
			status: "active",
			defaults: {},
			tags: ["third-party"],
		};
		expect(thirdPartyModel("alibaba/qwen3-max")).toEqual({
			...common,
			id: "alibaba/qwen3-max",
			uuid: "f845be21-3020-57dc-a1ff-a64d82d440ae",
			author: "alibaba",
			task: "Text Generation",
			input: "chat-openai",
			output: "openai-chat-completion",
			capabilities: ["function_calling", "json_mode", "streaming"],
			contextWindow: 262_144,
			prices: [
				{ unit: "per M input tokens", neurons: 109_090.909091, usd: 1.2 },
				{ unit: "per M output tokens", neurons: 545_454.545455, usd: 6 },
			],
		});
		expect(thirdPartyModel("alibaba/qwen-image-3.0-pro")).toEqual({
			...common,
			id: "alibaba/qwen-image-3.0-pro",
			uuid: "7be6a734-9a22-56ee-9175-1fe380b4d6ca",
			author: "alibaba",
			task: "Text-to-Image",
			input: "tti-lucid",
			output: "image-b64",
			capabilities: [],
			prices: [],
		});
	});

	it("has each id once, with its author, and shapes that fit its task", () => {
		expect(rows).toHaveLength(135);
		expect(new Set(rows.map(({ id }) => id)).size).toBe(135);
		for (const model of THIRD_PARTY_IDS.map(found)) {
			expect(isThirdPartyId(model.id), model.id).toBe(true);
			expect(model).toMatchObject({
				uuid: nameUuid(model.id),
				author: authorOf(model.id),
				source: THIRD_PARTY_SOURCE,
			});
			expect(inputsOf(model.task), model.id).toContain(model.input);
			expect(outputsOf(model.input), model.id).toContain(model.output);
			if (model.task === "Text Generation" && model.input !== "decision-clef")
				expect(model).toMatchObject(chatShapesOf(model.id, model.requestFormats));
		}
	});

	it("has the tasks of the product's list", () => {
		const counts: Record<string, number> = {};
		for (const { task } of THIRD_PARTY_IDS.map(found)) counts[task] = (counts[task] ?? 0) + 1;
		expect(counts).toEqual({
			"Text Generation": 71,
			"Text-to-Image": 43,
			"Text-to-Speech": 16,
			"Automatic Speech Recognition": 5,
		});
	});

	it("has prices in neurons at 0.011 dollars per thousand", () => {
		expect(found("anthropic/claude-haiku-4.5")).toMatchObject({
			contextWindow: 200_000,
			prices: [
				{ unit: "per M input tokens", neurons: 90_909.090909, usd: 1 },
				{ unit: "per M cached input tokens", neurons: 9_090.909091, usd: 0.1 },
				{ unit: "per M cache write tokens", neurons: 113_636.363636, usd: 1.25 },
				{ unit: "per M output tokens", neurons: 454_545.454545, usd: 5 },
			],
		});
		const priced = THIRD_PARTY_IDS.map(found).filter(({ prices }) => prices.length > 0);
		expect(priced).toHaveLength(58);
		for (const { id, prices } of priced)
			for (const { neurons, usd } of prices) expect((neurons * 0.011) / 1000, id).toBeCloseTo(usd, 9);
	});

	it("lists unsupported models separately", () => {
		expect(unservedTask("google/veo-3")).toBe("Text-to-Video");
		expect(unservedTask("openai/gpt-5")).toBeUndefined();
		for (const id of Object.keys(unserved)) expect(new Catalog().find(id), id).toBeUndefined();
		expect(THIRD_PARTY_AUTHORS.has("vidu")).toBe(true);
		expect(THIRD_PARTY_AUTHORS.has("meta")).toBe(false);
	});
});

describe("a bill at the prices of third-party.json", () => {
	const usd = (id: string, used: Quantities) => neurons(found(id).prices, used) * USD_PER_NEURON;
	const used = { inputTokens: 100_000, cachedTokens: 40_000, cacheWriteTokens: 10_000, outputTokens: 2_000 };

	it("of an image by its tokens", () => {
		const image = { inputTokens: 400, inputImageTokens: 323, outputTokens: 4_160, outputImageTokens: 4_160 };
		// (77 * 5 + 323 * 8 + 4160 * 30) / 1,000,000
		expect(usd("openai/gpt-image-2", image)).toBeCloseTo(0.127769, 8);
		// (77 * 5 + 100 * 8 + 223 * 2 + 4160 * 32) / 1,000,000: 223 of the image's tokens were cached
		const cached = { ...image, cachedTokens: 223, cachedImageTokens: 223 };
		expect(usd("openai/gpt-image-1.5", cached)).toBeCloseTo(0.134751, 8);
		// (50 * 5 + 27 * 1.25 + 323 * 8 + 60 * 10 + 4100 * 32) / 1,000,000: a text beside the image
		const text = { ...image, cachedTokens: 27, outputImageTokens: 4_100 };
		expect(usd("openai/gpt-image-1.5", text)).toBeCloseTo(0.13466775, 8);
		// A host's counts that cannot be: there are no fewer tokens than none.
		const impossible = { inputTokens: 10, inputImageTokens: 10, outputTokens: 0, outputImageTokens: 0 };
		expect(usd("openai/gpt-image-2", impossible)).toBeCloseTo(0.00008, 8);
	});

	it("of gpt-6-luna", () => {
		// (50000 * 0.1 + 40000 * 0.01 + 10000 * 0.125 + 2000 * 0.5) / 1,000,000
		expect(usd("openai/gpt-6-luna", used)).toBeCloseTo(0.00765, 8);
		// (250000 * 0.2 + 40000 * 0.02 + 10000 * 0.25 + 2000 * 0.75) / 1,000,000
		expect(usd("openai/gpt-6-luna", { ...used, inputTokens: 300_000 })).toBeCloseTo(0.0548, 8);
	});

	it("of gpt-6-astra at the threshold and above it", () => {
		// (272000 * 10 + 1000 * 50) / 1,000,000
		expect(usd("openai/gpt-6-astra", { inputTokens: 272_000, outputTokens: 1_000 })).toBeCloseTo(2.77, 8);
		// (272001 * 20 + 1000 * 75) / 1,000,000
		expect(usd("openai/gpt-6-astra", { inputTokens: 272_001, outputTokens: 1_000 })).toBeCloseTo(5.51502, 8);
	});

	it("of grok-4.6, whose long tier begins at 200,000 tokens", () => {
		// 199999 * 2 / 1,000,000
		expect(usd("xai/grok-4.6", { inputTokens: 199_999 })).toBeCloseTo(0.399998, 8);
		// 200000 * 4 / 1,000,000
		expect(usd("xai/grok-4.6", { inputTokens: 200_000 })).toBeCloseTo(0.8, 8);
	});

	it("of claude-opus-5.5 with a cache", () => {
		// (50000 * 4 + 40000 * 0.2 + 10000 * 5 + 2000 * 20) / 1,000,000
		expect(usd("anthropic/claude-opus-5.5", used)).toBeCloseTo(0.298, 8);
	});

	it("of jev, without the output", () => {
		// 426 * 0.042 / 1,000,000
		expect(usd("typesafe/jev", { inputTokens: 426, outputTokens: 73 })).toBeCloseTo(0.000017892, 9);
	});
});

describe("the request formats", () => {
	it("decide the format of a model's native routes", () => {
		expect(found("openai/gpt-5.6-sol")).toMatchObject({
			requestFormats: ["responses"],
			input: "chat-or-responses",
		});
		expect(found("openai/gpt-6-luna").requestFormats).toEqual(["responses", "chat-completions"]);
		expect(found("openai/gpt-4o")).toMatchObject({ input: "chat-openai" });
		expect(found("anthropic/claude-sonnet-5.5")).toMatchObject({
			requestFormats: ["anthropic-messages"],
			input: "messages",
		});
	});
});

describe("deepseek-chat", () => {
	it("is known to the product's run API, which asks for a key (observed in cloudflare/ai)", () => {
		expect(found("deepseek/deepseek-chat")).toMatchObject({ task: "Text Generation", status: "active" });
	});
});

describe("the catalogue", () => {
	it("finds third-party models, and lists none by default", () => {
		const catalog = new Catalog();
		expect(found("openai/gpt-5").author).toBe("openai");
		expect(catalog.all).toHaveLength(PRODUCT_MODELS.length);
		expect(search(catalog, { search: "gpt-5" }, 0).result).toEqual([]);
	});

	it("lists added third-party models, with the operator's overrides", () => {
		const model = { ...found("openai/gpt-5"), contextWindow: 5 };
		const catalog = new Catalog().with([model]);
		expect(catalog.find("openai/gpt-5")).toBe(model);
		expect(search(catalog, { search: "gpt-5" }, 0).result.map(({ name }) => name)).toEqual(["openai/gpt-5"]);
	});
});

describe("an ad hoc model", () => {
	it.each([
		["anthropic/claude-99", "messages"],
		["openai/gpt-99", "chat-openai"],
		["@cf/anthropic/claude", "chat-openai"],
	])("%s has the input shape %s", (id, input) => {
		expect(adHocModel(id).input).toBe(input);
	});
});

describe("isThirdPartyId", () => {
	it.each([
		["openai/gpt-5", true],
		["openrouter/meta-llama/llama-4", true],
		["@cf/meta/llama", false],
		["@hf/x/y", false],
		["llama3.2", false],
		["/x", false],
		["x/", false],
		["", false],
	])("of %s is %s", (id, expected) => {
		expect(isThirdPartyId(id)).toBe(expected);
	});
});
