import { describe, expect, it } from "vitest";
import { adHocModel, Catalog, PRODUCT_MODELS } from "../../src/models/catalog.ts";
import { inputsOf, outputsOf } from "../../src/models/family.ts";
import { Model } from "../../src/models/model.ts";
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
			prices: [],
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
		expect(rows).toHaveLength(127);
		expect(new Set(rows.map(({ id }) => id)).size).toBe(127);
		for (const model of THIRD_PARTY_IDS.map(found)) {
			expect(isThirdPartyId(model.id), model.id).toBe(true);
			expect(model).toMatchObject({
				uuid: nameUuid(model.id),
				author: authorOf(model.id),
				source: THIRD_PARTY_SOURCE,
			});
			expect(inputsOf(model.task), model.id).toContain(model.input);
			expect(outputsOf(model.input), model.id).toContain(model.output);
			const shapes =
				model.id === "typesafe/jev"
					? { input: "decision-clef", output: "decision-answers" }
					: chatShapesOf(model.id);
			if (model.task === "Text Generation") expect(model).toMatchObject(shapes);
		}
	});

	it("has the tasks of the product's list", () => {
		const counts: Record<string, number> = {};
		for (const { task } of THIRD_PARTY_IDS.map(found)) counts[task] = (counts[task] ?? 0) + 1;
		expect(counts).toEqual({
			"Text Generation": 68,
			"Text-to-Image": 40,
			"Text-to-Speech": 15,
			"Automatic Speech Recognition": 4,
		});
	});

	it("has prices in neurons at 0.011 dollars per thousand", () => {
		expect(found("anthropic/claude-haiku-4.5")).toMatchObject({
			contextWindow: 200_000,
			prices: [
				{ unit: "per M input tokens", neurons: 90_909.090909, usd: 1 },
				{ unit: "per M cached input tokens", neurons: 9_090.909091, usd: 0.1 },
				{ unit: "per M output tokens", neurons: 454_545.454545, usd: 5 },
			],
		});
		const priced = THIRD_PARTY_IDS.map(found).filter(({ prices }) => prices.length > 0);
		expect(priced).toHaveLength(13);
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
