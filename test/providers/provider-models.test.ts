import { describe, expect, it } from "vitest";
import { Catalog } from "../../src/models/catalog.ts";
import { modelOfProvider } from "../../src/providers/provider-models.ts";

describe("a provider's model in the catalogue", () => {
	it.each([
		["openai", "gpt-5", "openai/gpt-5"],
		["openai", "gpt-5-2025-08-07", "openai/gpt-5"],
		["openai", "gpt-4.1-mini-2025-04-14", "openai/gpt-4.1-mini"],
		["anthropic", "claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"],
		["anthropic", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5"],
		["anthropic", "claude-sonnet-4.5", "anthropic/claude-sonnet-4.5"],
		["anthropic", "claude-sonnet-4-0", "anthropic/claude-sonnet-4"],
		["anthropic", "claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"],
		["anthropic", "claude-opus-4-6-latest", "anthropic/claude-opus-4.6"],
		["google", "gemini-3-flash-preview", "google/gemini-3-flash"],
		["google", "gemini-3-flash", "google/gemini-3-flash"],
		["minimax", "MiniMax-M2.7", "minimax/m2.7"],
	])("%s/%s is %s", (author, name, id) => {
		expect(modelOfProvider(author, name, new Catalog())?.id).toBe(id);
	});

	it.each([
		["openai", "ft:gpt-4.1-mini:acme::abc"],
		["openai", "gpt-5-2025"],
		["openai", ""],
		["anthropic", "gpt-5"],
		["azure-openai", "gpt-5"],
		["__proto__", "constructor"],
	])("%s/%s is in no catalogue", (author, name) => {
		expect(modelOfProvider(author, name, new Catalog())).toBeUndefined();
	});

	it("may be the operator's", () => {
		const [known] = new Catalog().all;
		if (!known) throw new Error("no models");
		const catalog = new Catalog([
			{ ...known, id: "custom-mine/m-1" },
			{ ...known, id: "anthropic/claude-opus-4.8", description: "own" },
		]);
		expect(modelOfProvider("custom-mine", "m-1", catalog)?.id).toBe("custom-mine/m-1");
		expect(modelOfProvider("anthropic", "claude-opus-4-8", catalog)?.description).toBe("own");
	});
});
