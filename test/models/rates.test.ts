import { describe, expect, it } from "vitest";
import { adHocModel, PRODUCT_MODELS } from "../../src/models/catalog.ts";
import { modelRate } from "../../src/models/rates.ts";

const rateOf = (id: string) => {
	const model = PRODUCT_MODELS.find((row) => row.id === id);
	return modelRate(model ?? adHocModel(id));
};

describe("modelRate", () => {
	it("has the product's limits of single models", () => {
		expect(rateOf("@cf/baai/bge-large-en-v1.5")).toBe(1500);
		expect(rateOf("@cf/moonshotai/kimi-k2.6")).toBe(20);
		expect(rateOf("@cf/meta/llama-3.2-1b-instruct")).toBeUndefined();
	});

	it("has no limit for names such as __proto__", () => {
		for (const id of ["__proto__", "constructor", "toString"]) expect(rateOf(id)).toBeUndefined();
	});
});
