import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import { adHocModel, Catalog } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { authorList, search, taskList } from "../../src/models/search.ts";
import { nameUuid } from "../../src/models/uuid.ts";

const product = new Catalog();
const NOW = Date.parse("2026-10-15");

const names = (query: Record<string, string>, catalog = product, now = NOW): string[] =>
	search(catalog, query, now).result.map(({ name }) => name);

const only = (id: string, now = NOW) => {
	const [found] = search(product, { search: id, include_deprecated: "true" }, now).result;
	return found;
};

describe("search", () => {
	it("returns a model in the product's form", () => {
		expect(only("@cf/deepseek-ai/deepseek-v4-flash-0731")).toEqual({
			id: "7276b330-b4ae-4662-81d1-3a8bea8368f8",
			source: 1,
			name: "@cf/deepseek-ai/deepseek-v4-flash-0731",
			description: "Fast reasoning model with tools and a context of about a million tokens.",
			task: {
				id: "c329a1f9-323d-4e91-b2aa-582dd4188d34",
				name: "Text Generation",
				description: expect.any(String),
			},
			created_at: "2026-07-31 00:00:00.000",
			tags: [],
			properties: [
				{ property_id: "async_queue", value: "true" },
				{ property_id: "function_calling", value: "true" },
				{ property_id: "reasoning", value: "true" },
				{ property_id: "require_workers_paid", value: "true" },
				{ property_id: "context_window", value: "1048576" },
				{
					property_id: "reasoning_effort",
					value: {
						supported_efforts: ["max", "high", "low", "none"],
						default_effort: "high",
						default_enabled: true,
						mandatory: false,
						normalizes_to: { null: "high", minimal: "low", medium: "high", xhigh: "high" },
					},
				},
				{
					property_id: "price",
					value: [
						{ unit: "per M input tokens", price: 0.44, currency: "USD" },
						{ unit: "per M cached input tokens", price: 0.014, currency: "USD" },
						{ unit: "per M output tokens", price: 1.32, currency: "USD" },
					],
				},
			],
		});
	});

	it("returns dimensions, tags and a planned end, and omits absent properties", () => {
		expect(only("@cf/baai/bge-small-en-v1.5")?.properties).toEqual([
			{ property_id: "async_queue", value: "true" },
			{ property_id: "max_input_tokens", value: "512" },
			{ property_id: "output_dimensions", value: "384" },
			{ property_id: "price", value: [{ unit: "per M input tokens", price: 0.0202, currency: "USD" }] },
		]);
		expect(only("llama-guard-3-8b")?.tags).toEqual([
			"moderation",
			"safety",
			"content-filtering",
			"guardrails",
		]);
		const ending = only("@cf/microsoft/phi-2", Date.parse("2026-05-01"));
		expect(ending?.properties).toContainEqual({
			property_id: "planned_deprecation_date",
			value: "2026-05-30",
		});
	});

	it("returns an operator's model without date, price and author", () => {
		const { result } = search(new Catalog([adHocModel("llama3.2")]), {}, NOW);
		expect(result).toEqual([
			{
				id: nameUuid("llama3.2"),
				source: 0,
				name: "llama3.2",
				description: "",
				task: taskList()[0],
				tags: [],
				properties: [{ property_id: "function_calling", value: "true" }],
			},
		]);
	});

	it("lists the product's 68 active and 2 gated models", () => {
		const all = search(product, {}, NOW);
		expect(all.result_info).toEqual({ page: 1, per_page: 100, count: 70, total_count: 70, total_pages: 1 });
		expect(all.result.map(({ name }) => name)).toContain("@cf/swiss-ai/apertus-v1.5-8b");
	});

	it("lists ended models for three months with include_deprecated", () => {
		const summer = Date.parse("2026-07-01");
		expect(names({}, product, summer)).not.toContain("@cf/microsoft/phi-2");
		expect(names({ include_deprecated: "true" }, product, summer)).toContain("@cf/microsoft/phi-2");
		expect(names({ include_deprecated: "false" }, product, summer)).not.toContain("@cf/microsoft/phi-2");
		// Ended in October 2025, removed, unlisted.
		for (const gone of ["openchat-3.5-0106", "deepseek-math-7b-base", "detr-resnet-50"])
			expect(names({ search: gone, include_deprecated: "true" }, product, summer)).toEqual([]);
	});

	it("matches every word, in any letter case", () => {
		expect(names({ search: "LLAMA 70b" })).toEqual(["@cf/meta/llama-3.3-70b-instruct-fp8-fast"]);
		expect(names({ search: "guardrails" })).toEqual(["@cf/meta/llama-guard-3-8b"]);
		expect(names({ search: "imagenet" })).toEqual(["@cf/microsoft/resnet-50"]);
		expect(names({ search: "object detection" })).toEqual([]);
		expect(names({ search: "zzz" })).toEqual([]);
	});

	it("filters by author, task and source", () => {
		expect(names({ author: "OpenAI" })).toHaveLength(5);
		expect(names({ author: "open" })).toEqual([]);
		expect(names({ task: "text-to-speech" })).toHaveLength(4);
		expect(names({ task: "Text Generation", author: "openai" })).toEqual([
			"@cf/openai/gpt-oss-120b",
			"@cf/openai/gpt-oss-20b",
		]);
		expect(names({ task: "nothing" })).toEqual([]);
		expect(names({ source: "2" })).toEqual([]);
		expect(names({ source: "2", include_deprecated: "true" }, product, Date.parse("2026-07-01"))).toEqual([
			"@hf/google/gemma-7b-it",
			"@hf/meta-llama/meta-llama-3-8b-instruct",
			"@hf/mistral/mistral-7b-instruct-v0.2",
			"@hf/nousresearch/hermes-2-pro-mistral-7b",
		]);
	});

	it("omits experimental models with hide_experimental", () => {
		const hidden = names({}).filter((name) => !names({ hide_experimental: "true" }).includes(name));
		expect(hidden).toHaveLength(9);
		expect(hidden).toContain("@cf/openai/whisper-tiny-en");
	});

	it("returns every model once over all pages, then an empty page", () => {
		const pages = [1, 2, 3, 4].map((page) => search(product, { per_page: "30", page: String(page) }, NOW));
		expect(pages.map(({ result }) => result.length)).toEqual([30, 30, 10, 0]);
		expect(pages.flatMap(({ result }) => result.map(({ name }) => name))).toEqual(names({}));
		expect(pages[3]?.result_info).toEqual({
			page: 4,
			per_page: 30,
			count: 0,
			total_count: 70,
			total_pages: 3,
		});
	});

	it("has no pages without a match", () => {
		expect(search(product, { search: "zzz" }, NOW).result_info).toMatchObject({
			total_count: 0,
			total_pages: 0,
		});
	});

	it("reads an empty parameter as absent, and ignores unknown ones", () => {
		expect(names({ search: "", author: "", page: "", hide_experimental: "", format: "x" })).toEqual(
			names({}),
		);
	});

	it.each([
		[{ page: "0" }, "Error: 'page' must be a whole number from 1"],
		[{ page: "1.5" }, "Error: 'page' must be a whole number from 1"],
		[{ per_page: "1001" }, "Error: 'per_page' must be a whole number from 1 to 1000"],
		[{ per_page: "1e2" }, "Error: 'per_page' must be a whole number from 1 to 1000"],
		[{ source: "one" }, "Error: 'source' must be a whole number"],
		[
			{ hide_experimental: "yes", include_deprecated: "1" },
			"Error: 'hide_experimental' must be 'true' or 'false', 'include_deprecated' must be 'true' or 'false'",
		],
	])("refuses %j", (query, description) => {
		expect(() => search(product, query as Record<string, string>, NOW)).toThrow(AiError);
		expect(() => search(product, query as Record<string, string>, NOW)).toThrow(`5006: ${description}`);
	});
});

describe("taskList", () => {
	it("has the twelve tasks of the catalogue with the product's ids", () => {
		const tasks = taskList();
		expect(new Set(tasks.map(({ name }) => name))).toEqual(new Set(product.all.map(({ task }) => task)));
		expect(new Set(tasks.map(({ id }) => id)).size).toBe(12);
		const byName = Object.fromEntries(tasks.map(({ name, id }) => [name, id]));
		expect(byName).toMatchObject({
			"Text Embeddings": "0137cdcf-162a-4108-94f2-1ca59e8c65ee",
			"Object Detection": "9c178979-90d9-49d8-9e2c-0f1cf01815d4",
			// The product's id is unknown.
			"Dumb Pipe": nameUuid("Dumb Pipe"),
		});
		for (const { description } of tasks) expect(description).not.toBe("");
	});
});

describe("authorList", () => {
	it("lists each author once, sorted", () => {
		const customModels: Model[] = [
			adHocModel("zeta/b"),
			adHocModel("acme/a"),
			adHocModel("acme/b"),
			adHocModel("llama3.2"),
		];
		expect(authorList(new Catalog(customModels))).toEqual([{ name: "acme" }, { name: "zeta" }]);
	});
});
