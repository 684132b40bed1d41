import { describe, expect, it } from "vitest";
import { effortOf, type OpenAiModel, openAiModel } from "../../../src/backends/openai/model-table.ts";

const LOW_TO_HIGH = ["low", "medium", "high"];
const NONE_TO_XHIGH = ["none", ...LOW_TO_HIGH, "xhigh"];
const LOW_TO_MAX = [...LOW_TO_HIGH, "xhigh", "max"];

const row = (model: string): OpenAiModel => {
	const found = openAiModel(model);
	if (!found) throw new Error(`${model} is not in the table`);
	return found;
};

describe("the models of OpenAI", () => {
	it.each<[string, string[], OpenAiModel["sampling"], boolean]>([
		["gpt-4.1", [], "always", true],
		["gpt-4o", [], "always", true],
		["o3", LOW_TO_HIGH, "never", true],
		["gpt-5", ["minimal", ...LOW_TO_HIGH], "never", true],
		["gpt-5.1", ["none", ...LOW_TO_HIGH], "without reasoning", true],
		["gpt-5.2", NONE_TO_XHIGH, "without reasoning", true],
		["gpt-5.4", NONE_TO_XHIGH, "without reasoning", true],
		["gpt-5.5", NONE_TO_XHIGH, "without reasoning", true],
		["gpt-5.6-sol", ["none", ...LOW_TO_MAX], "without reasoning", true],
		["gpt-6-sol", ["none", ...LOW_TO_MAX], "without reasoning", false],
		["gpt-6-luna", ["none", ...LOW_TO_MAX], "without reasoning", false],
		["gpt-6.1-terra", ["none", ...LOW_TO_MAX], "without reasoning", false],
		["gpt-6-astra", LOW_TO_MAX, "never", false],
		["gpt-6.1-sol", LOW_TO_MAX, "never", false],
		["gpt-6.2-astra", LOW_TO_MAX, "never", false],
	])("%s has the efforts %j, and sampling fields %s", (model, efforts, sampling, cacheRetention) => {
		expect(row(model)).toMatchObject({ efforts, sampling, cacheRetention });
	});

	it("are found by their dated snapshots and fine-tuned names", () => {
		expect(openAiModel("gpt-5.6-sol-2026-07-01")).toEqual(row("gpt-5.6-sol"));
		expect(openAiModel("ft:gpt-4.1:acme::9aBc")).toEqual(row("gpt-4.1"));
	});

	it.each(["gpt-7", "gpt-5.6-sol-preview", "llama3.2", "", "constructor"])("do not include %j", (model) => {
		expect(openAiModel(model)).toBeUndefined();
	});
});

describe("the effort that a model gets", () => {
	it.each([
		["gpt-6-astra", "none", "responses", "low"],
		["gpt-6-astra", "minimal", "responses", "low"],
		["gpt-6-astra", "max", "responses", "max"],
		["gpt-6-sol", "max", "chat", "xhigh"],
		["gpt-5.6-sol", "none", "chat", "none"],
		["gpt-5.6-sol", null, "chat", "none"],
		["gpt-5.6-sol", "minimal", "chat", "none"],
		["gpt-5.1", "max", "responses", "high"],
		["gpt-5", "none", "chat", "minimal"],
		["gpt-5", "xhigh", "chat", "high"],
		["gpt-4.1", "high", "chat", undefined],
		["gpt-6-astra", undefined, "responses", undefined],
	] as const)("%s, asked for %s by %s, is %s", (model, effort, api, expected) => {
		expect(effortOf(effort, row(model), api)).toBe(expected);
	});
});
