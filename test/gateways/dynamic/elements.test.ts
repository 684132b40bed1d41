import { describe, expect, it } from "vitest";
import { Elements } from "../../../src/gateways/dynamic/elements.ts";

const to = (elementId: string) => ({ elementId });
const START = { id: "start", type: "start", outputs: { next: to("model") } };
const MODEL = {
	id: "model",
	type: "model",
	properties: { provider: "openai", model: "gpt-5.4-mini", timeout: 1_000, retries: 1 },
	outputs: { success: to("end"), fallback: to("end") },
};
const END = { id: "end", type: "end", outputs: {} };

const problems = (elements: unknown): string[] =>
	(Elements().safeParse(elements).error?.issues ?? []).map(({ message }) => message);

describe("the elements of a dynamic route", () => {
	it("accepts a route with one model, and keeps unknown fields", () => {
		const elements = [{ ...START, position: { x: 1 } }, MODEL, END];
		expect(Elements().parse(elements)).toEqual(elements);
	});

	it("accepts a model and a rate without a fallback, and an end without outputs", () => {
		const rate = {
			id: "rate",
			type: "rate",
			properties: { limitType: "count", key: "metadata.user", limit: 5, window: 60 },
			outputs: { success: to("model") },
		};
		const elements = [
			{ ...START, outputs: { next: to("rate") } },
			rate,
			{ ...MODEL, outputs: { success: to("end") } },
			{ id: "end", type: "end" },
		];
		expect(problems(elements)).toEqual([]);
	});

	it.each<[string, unknown[], string]>([
		["no start", [MODEL, END], 'expected one element of type "start", found 0'],
		[
			"two starts",
			[START, { ...START, id: "s" }, MODEL, END],
			'expected one element of type "start", found 2',
		],
		["an output to no element", [START, MODEL], "the output success of model names end, which is no element"],
		["two elements with one id", [START, MODEL, MODEL, END], "expected elements with different ids"],
		[
			"a cycle",
			[START, { ...MODEL, outputs: { success: to("end"), fallback: to("start") } }, END],
			"expected no cycle of elements",
		],
		[
			"an element that names itself",
			[START, { ...MODEL, outputs: { success: to("end"), fallback: to("model") } }, END],
			"expected no cycle of elements",
		],
	])("refuses %s", (_, elements, problem) => expect(problems(elements)).toContain(problem));

	it("accepts two paths to one element", () => {
		const outputs = { "50%": to("model"), "50.0%": to("end") };
		const split = { id: "split", type: "percentage", outputs };
		expect(problems([{ ...START, outputs: { next: to("split") } }, split, MODEL, END])).toEqual([]);
	});

	const percentage = (outputs: object) => [
		{ ...START, outputs: { next: to("split") } },
		{ id: "split", type: "percentage", outputs },
		MODEL,
		END,
	];

	it.each<[object, string]>([
		[{ "10%": to("model"), "80%": to("end") }, "expected percentages that sum to 100"],
		[{ half: to("model") }, "Invalid key in record"],
		[
			Object.fromEntries(["10%", "11%", "12%", "13%", "14%", "40%"].map((share) => [share, to("end")])),
			"expected at most 5 outputs",
		],
	])("refuses the percentages %j", (outputs, problem) => {
		expect(problems(percentage(outputs))).toContain(problem);
	});

	it("refuses an operator that runs a pattern", () => {
		const conditional = {
			id: "if",
			type: "conditional",
			properties: { conditions: { "metadata.plan": { $regex: "a" } } },
			outputs: { true: to("model"), false: to("end") },
		};
		const elements = [{ ...START, outputs: { next: to("if") } }, conditional, MODEL, END];
		expect(problems(elements)).toEqual(["unknown operator $regex"]);
	});

	it.each<[object]>([
		[{ ...MODEL, properties: { ...MODEL.properties, retry: 2 } }],
		[{ ...MODEL, outputs: { ...MODEL.outputs, fallbck: { elementId: "end" } } }],
		[{ ...MODEL, outputs: { success: { elementId: "end", element: "end" } } }],
	])("refuses an unknown property or output of an element: %j", (element) => {
		expect(Elements().safeParse([START, element, END]).error?.issues[0]?.code).toBe("unrecognized_keys");
	});

	it("refuses more than 100 elements", () => {
		const ends = Array.from({ length: 99 }, (_, i) => ({ id: `end-${i}`, type: "end" }));
		expect(problems([START, { ...MODEL, outputs: { success: to("end-0") } }, ...ends])).toEqual([
			"Too big: expected array to have <=100 items",
		]);
	});
});
