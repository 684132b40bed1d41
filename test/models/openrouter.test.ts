import { describe, expect, it } from "vitest";
import { adHocModel, Catalog } from "../../src/models/catalog.ts";
import { openRouterList } from "../../src/models/openrouter.ts";

const NOW = Date.parse("2026-10-15");
const { data } = openRouterList(new Catalog(), NOW);
const found = (id: string) => data.find((model) => model.id === id);

describe("openRouterList", () => {
	it("writes a model in OpenRouter's form", () => {
		expect(found("@cf/zai-org/glm-5.3-flash")).toEqual({
			id: "@cf/zai-org/glm-5.3-flash",
			canonical_slug: "@cf/zai-org/glm-5.3-flash",
			name: "glm-5.3-flash",
			created: 1787702400,
			description: "The fast GLM 5.3: reasoning, images, tools and a context of 1.3 million tokens.",
			context_length: 1310720,
			architecture: {
				modality: "text+image->text",
				input_modalities: ["text", "image"],
				output_modalities: ["text"],
				tokenizer: "Other",
				instruct_type: null,
			},
			pricing: {
				prompt: "0.00000015",
				completion: "0.0000005",
				input_cache_read: "0.00000003",
				request: "0",
				image: "0",
			},
			top_provider: { context_length: 1310720, max_completion_tokens: null, is_moderated: false },
			per_request_limits: null,
			supported_parameters: [
				"max_tokens",
				"temperature",
				"top_p",
				"seed",
				"frequency_penalty",
				"presence_penalty",
				"stop",
				"logprobs",
				"top_logprobs",
				"logit_bias",
				"tools",
				"tool_choice",
				"response_format",
				"structured_outputs",
				"reasoning",
				"include_reasoning",
			],
		});
	});

	it("lists only chat models that have not ended", () => {
		// 34 active and 2 gated text models, without the three decision models.
		expect(data).toHaveLength(33);
		for (const id of ["@cf/baai/bge-m3", "@cf/cloudflare/clef", "@cf/microsoft/phi-2"])
			expect(found(id), id).toBeUndefined();
	});

	it("omits unknown properties of an operator's model", () => {
		const [own] = openRouterList(new Catalog([adHocModel("llama3.2")]), NOW).data;
		expect(own).toMatchObject({
			created: 0,
			context_length: null,
			pricing: { prompt: "0", completion: "0" },
			architecture: { modality: "text->text" },
		});
		expect(own?.pricing).not.toHaveProperty("input_cache_read");
	});

	it("writes prices without an exponent", () => {
		for (const { pricing } of data)
			for (const price of Object.values(pricing)) expect(price).toMatch(/^\d+(\.\d*[1-9])?$/);
	});
});
