import { expect, it } from "vitest";
import { tokenCost } from "../../../src/gateways/usage/token-cost.ts";
import { adHocModel, Catalog } from "../../../src/models/catalog.ts";
import type { Price } from "../../../src/models/model.ts";

const TOKENS = { inputTokens: 1_000, cachedTokens: 400, outputTokens: 100 };

it.each([
	// Dollars per million tokens: input, cached input, output.
	["anthropic/claude-sonnet-4.5", (600 * 3 + 400 * 0.3 + 100 * 15) / 1e6],
	["openai/gpt-5", (600 * 1.25 + 400 * 0.125 + 100 * 10) / 1e6],
	// Its price is per minute of audio.
	["openai/gpt-4o-transcribe", undefined],
	["openai/gpt-4o", (600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6],
	["openai/unknown", undefined],
])("the tokens of %s cost %j dollars", (id, dollars) => {
	const cost = tokenCost(new Catalog().find(id), TOKENS);
	if (dollars === undefined) expect(cost).toBeUndefined();
	else expect(cost).toBeCloseTo(dollars, 10);
});

it("the price of the operator's engine is not the provider's", () => {
	const prices: Price[] = [{ unit: "per M input tokens", neurons: 1_000_000, usd: 11 }];
	const model = { ...adHocModel("openai/gpt-4o"), prices };
	expect(tokenCost(model, TOKENS)).toBeCloseTo(0.011, 10);
	expect(tokenCost({ ...model, priceSource: "backend" }, TOKENS)).toBeUndefined();
	expect(tokenCost({ ...model, priceSource: "default" }, TOKENS)).toBeUndefined();
});
