import { describe, expect, it } from "vitest";
import rows from "../../src/models/catalog.json" with { type: "json" };
import { adHocModel, Catalog, isListed, PRODUCT_MODELS } from "../../src/models/catalog.ts";
import { inputsOf, outputsOf } from "../../src/models/family.ts";
import { Model } from "../../src/models/model.ts";
import { authorOf } from "../../src/models/third-party.ts";
import { nameUuid } from "../../src/models/uuid.ts";

const product = new Catalog();

const found = (id: string): Model => {
	const model = product.find(id);
	if (!model) throw new Error(`${id} is not in the catalogue`);
	return model;
};

describe("catalog.json", () => {
	it.each(rows.map((row) => [row.id, row]))("%s satisfies the schema", (_, row) => {
		expect(Model.parse(row)).toEqual(row);
	});

	it("has 114 models, each id and each uuid once", () => {
		expect(rows).toHaveLength(114);
		expect(new Set(rows.map(({ id }) => id)).size).toBe(114);
		expect(new Set(rows.map(({ uuid }) => uuid)).size).toBe(114);
		for (const { uuid } of rows) expect(uuid).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
	});

	it("has the product's counts by task and status", () => {
		const counts: Record<string, Record<string, number>> = {};
		for (const { task, status } of PRODUCT_MODELS) {
			const row = counts[task] ?? {};
			counts[task] = { ...row, [status]: (row[status] ?? 0) + 1 };
		}
		expect(counts).toEqual({
			// Two of the unlisted models are only on the pricing page.
			"Text Generation": { active: 34, gated: 2, unlisted: 3, deprecated: 35, removed: 1 },
			"Text-to-Image": { active: 10, unlisted: 1 },
			"Text Embeddings": { active: 7, unlisted: 1 },
			"Automatic Speech Recognition": { active: 5 },
			"Text-to-Speech": { active: 4 },
			"Image-to-Text": { active: 2, deprecated: 1 },
			Translation: { active: 2 },
			"Text Classification": { active: 2 },
			Summarization: { deprecated: 1 },
			"Object Detection": { unlisted: 1 },
			"Image Classification": { active: 1 },
			"Dumb Pipe": { active: 1 },
		});
	});

	it("has the product's counts by capability", () => {
		const among = (status: RegExp, capability: string): number =>
			PRODUCT_MODELS.filter(
				(row) => status.test(row.status) && row.capabilities.some((one) => one === capability),
			).length;
		const running = /active|gated/;
		expect(among(running, "function_calling")).toBe(20);
		expect(among(running, "reasoning")).toBe(16);
		expect(among(running, "vision")).toBe(12);
		expect(among(running, "async_queue")).toBe(19);
		expect(among(running, "lora")).toBe(8);
		expect(among(running, "realtime")).toBe(6);
		expect(among(running, "json_mode")).toBe(28);
		expect(among(running, "streaming")).toBe(31);
		expect(among(running, "beta")).toBe(9);
		expect(among(running, "partner")).toBe(10);
		expect(among(/./, "require_workers_paid")).toBe(7);
		expect(among(/./, "streaming")).toBe(70);
		expect(among(/./, "json_mode")).toBe(44);
	});

	it("has each price unit once, with equal prices in dollars and neurons", () => {
		for (const { id, prices } of PRODUCT_MODELS) {
			expect(new Set(prices.map(({ unit }) => unit)).size, id).toBe(prices.length);
			// The product rounds dollars; the largest error is 1.8 %.
			for (const { neurons, usd } of prices)
				expect(Math.abs((neurons * 0.011) / 1000 - usd), id).toBeLessThanOrEqual(usd * 0.02);
		}
	});

	it("has an output shape that fits the input shape", () => {
		for (const { id, task, input, output } of PRODUCT_MODELS) {
			expect(inputsOf(task), id).toContain(input);
			expect(outputsOf(input), id).toContain(output);
		}
	});

	it("has a date for every deprecated model, and the author of the id", () => {
		for (const model of PRODUCT_MODELS) {
			expect(model.deprecated !== undefined, model.id).toBe(model.status === "deprecated");
			expect(model.author).toBe(authorOf(model.id));
			expect(model.source).toBe(model.id.startsWith("@hf/") ? 2 : 1);
			expect(model.description).not.toBe("");
		}
	});

	it("has the dimensions of every embeddings model", () => {
		const dimensions = PRODUCT_MODELS.filter(({ task }) => task === "Text Embeddings").map((model) => [
			model.id,
			model.dimensions,
		]);
		expect(Object.fromEntries(dimensions)).toEqual({
			"@cf/baai/bge-base-en-v1.5": 768,
			"@cf/baai/bge-large-en-v1.5": 1024,
			"@cf/baai/bge-m3": 1024,
			"@cf/baai/bge-small-en-v1.5": 384,
			"@cf/baai/omni-bge-base-en-v1.5": 768,
			"@cf/google/embeddinggemma-300m": 768,
			"@cf/pfnet/plamo-embedding-1b": 2048,
			"@cf/qwen/qwen3-embedding-0.6b": 1024,
		});
	});

	it("lists the fields of models with fewer fields than their shape", () => {
		const fewer = PRODUCT_MODELS.filter(({ inputFields }) => inputFields).map(({ id }) => id);
		expect(fewer).toEqual([
			"@cf/black-forest-labs/flux-2-klein-4b",
			"@cf/black-forest-labs/flux-2-klein-9b",
			"@cf/cloudflare/clef",
			"@cf/cloudflare/clef-flash",
			"@cf/deepseek-ai/deepseek-math-7b-base",
			"@cf/moonshotai/kimi-k2.7-code",
			"@cf/unum/uform-gen2-qwen-500m",
		]);
		expect(found("@cf/cloudflare/clef").inputFields).toEqual(["model", "state", "questions", "images"]);
		expect(found("@cf/unum/uform-gen2-qwen-500m").inputFields).not.toContain("temperature");
		expect(found("@cf/moonshotai/kimi-k2.7-code").inputFields).not.toContain("reasoning_effort");
	});

	it("has these rows", () => {
		expect(found("@cf/meta/llama-3.3-70b-instruct-fp8-fast")).toMatchObject({
			uuid: "7a143886-c9bb-4a1c-be95-377b1973bc3b",
			created: "2024-12-06",
			contextWindow: 24000,
			input: "chat-batch",
			output: "text-response-batch",
			defaults: { raw: false, stream: false, max_tokens: 256, temperature: 0.6 },
			capabilities: ["function_calling", "json_mode", "async_queue", "streaming"],
			prices: [
				{ unit: "per M input tokens", neurons: 26668, usd: 0.293 },
				{ unit: "per M output tokens", neurons: 204805, usd: 2.253 },
			],
		});
		expect(found("@cf/moonshotai/kimi-k2.5")).toMatchObject({
			status: "deprecated",
			deprecated: "2026-05-30",
			replacedBy: "@cf/moonshotai/kimi-k2.6",
			contextWindow: 256000,
		});
		// The pricing page has 0.51, which is the price per second.
		expect(found("@cf/pipecat-ai/smart-turn-v2").prices).toEqual([
			{ unit: "per audio minute input", neurons: 30.72, usd: 0.00033795 },
		]);
		expect(found("@cf/baai/bge-m3")).toMatchObject({ contextWindow: 60000, maxInputTokens: 8192 });
		expect(found("@cf/swiss-ai/apertus-v1.5-8b")).toMatchObject({
			status: "gated",
			input: "chat-openai",
			output: "openai-chat-completion",
			prices: [],
		});
		expect(found("@cf/openai/gpt-oss-120b")).toMatchObject({
			output: "gpt-oss",
			reasoningEffort: {
				supported_efforts: ["low", "medium", "high"],
				default_effort: "medium",
				default_enabled: true,
				mandatory: true,
			},
		});
		expect(found("@cf/meta/llama-3.1-8b-instruct-fp8-fast")).toMatchObject({
			uuid: nameUuid("@cf/meta/llama-3.1-8b-instruct-fp8-fast"),
			created: "",
			status: "unlisted",
		});
		expect(found("@cf/google/gemma-3-12b-it").defaults.temperature).toBe(0.6);
		expect(found("@cf/black-forest-labs/flux-2-dev").prices.map(({ neurons }) => neurons)).toEqual([
			18.75, 37.5,
		]);
		const fluxSteps = ["dev", "klein-4b", "klein-9b"].map(
			(name) => found(`@cf/black-forest-labs/flux-2-${name}`).defaults.steps,
		);
		expect(fluxSteps).toEqual([25, 4, 4]);
		expect(found("@cf/meta/llama-4-scout-17b-16e-instruct").output).toBe("text-response-openai-tools");
		expect(found("@cf/lykon/dreamshaper-8-lcm").output).toBe("image-png");
	});
});

describe("Catalog", () => {
	it("finds models only by the exact id", () => {
		expect(product.find("@cf/meta/llama-3.2-1b-instruct")?.author).toBe("meta");
		for (const id of ["cf/meta/llama-3.2-1b-instruct", "@CF/meta/llama-3.2-1b-instruct", "", "constructor"])
			expect(product.find(id)).toBeUndefined();
	});

	it("replaces a model by a later one with the same id, and does not change the first catalogue", () => {
		const override = { ...found("@cf/baai/bge-m3"), contextWindow: 512 };
		const catalog = product.with([override, adHocModel("llama3.2")]);
		expect(catalog.all).toHaveLength(115);
		expect(catalog.all.indexOf(override)).toBe(product.all.indexOf(found("@cf/baai/bge-m3")));
		expect(catalog.find("@cf/baai/bge-m3")).toBe(override);
		expect(catalog.find("llama3.2")?.task).toBe("Text Generation");
		expect(product.find("@cf/baai/bge-m3")?.contextWindow).toBe(60000);
		expect(product.find("llama3.2")).toBeUndefined();
	});
});

describe("adHocModel", () => {
	it("is a text model with OpenAI's chat, and always the same object", () => {
		const model = adHocModel("meta/llama3.2");
		expect(Model.parse(model)).toEqual(model);
		expect(model).toMatchObject({
			author: "meta",
			source: 0,
			input: "chat-openai",
			defaults: {},
			prices: [],
		});
		expect(adHocModel("meta/llama3.2")).toEqual(model);
		expect(adHocModel("meta/llama3.3").uuid).not.toBe(model.uuid);
	});

	it.each([
		["@cf/meta/llama", "meta"],
		["@acme/model", ""],
		["meta/llama/8b", "meta"],
		["llama3.2", ""],
		["", ""],
	])("has for %j the author %j", (id, author) => {
		expect(authorOf(id)).toBe(author);
	});
});

describe("isListed", () => {
	const model = (over: Partial<Model>): Model => ({ ...adHocModel("m"), ...over });
	const at = Date.parse;

	it("omits a model from the day of its end", () => {
		const ending = model({ status: "deprecated", deprecated: "2026-05-30" });
		expect(isListed(ending, at("2026-05-29T23:59:59.999Z"), false)).toBe(true);
		expect(isListed(ending, at("2026-05-30"), false)).toBe(false);
	});

	it("lists it for three more months with include_deprecated", () => {
		const ended = model({ status: "deprecated", deprecated: "2026-05-30" });
		expect(isListed(ended, at("2026-05-30"), true)).toBe(true);
		expect(isListed(ended, at("2026-08-29T23:59:59.999Z"), true)).toBe(true);
		expect(isListed(ended, at("2026-08-30"), true)).toBe(false);
	});

	it("lists gated models, and never unlisted or removed ones", () => {
		expect(isListed(model({ status: "gated" }), 0, false)).toBe(true);
		expect(isListed(model({ status: "unlisted" }), 0, true)).toBe(false);
		expect(isListed(model({ status: "removed" }), 0, true)).toBe(false);
	});
});

describe("nameUuid", () => {
	it("is version 5 of RFC 9562", () => {
		const DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
		expect(nameUuid("www.example.com", DNS)).toBe("2ed6657d-e927-568b-95e1-2665a8aea6a2");
	});
});
