import { describe, expect, it } from "vitest";
import type { Element, RateElement } from "../../../src/gateways/dynamic/elements.ts";
import { type WalkContext, walk } from "../../../src/gateways/dynamic/walk.ts";

const to = (elementId: string) => ({ elementId });
const start = (next: string): Element => ({ id: "start", type: "start", outputs: { next: to(next) } });
const model = (id: string, success: string, fallback?: string): Element => ({
	id,
	type: "model",
	properties: { provider: "openai", model: id },
	outputs: { success: to(success), ...(fallback && { fallback: to(fallback) }) },
});
const END: Element = { id: "end", type: "end" };

const context = (overrides: Partial<WalkContext> = {}): WalkContext => ({
	facts: { metadata: { plan: "pro", user: "u1" }, body: {}, headers: {} },
	random: () => 0,
	admit: async () => true,
	...overrides,
});

/** The models that are called if those in `failing` fail, and how the walk ends. */
async function visited(
	elements: readonly Element[],
	overrides: Partial<WalkContext> = {},
	failing: readonly string[] = [],
) {
	const steps = walk(elements, context(overrides));
	const models: string[] = [];
	let next = await steps.next(false);
	while (!next.done) {
		models.push(next.value.id);
		next = await steps.next(!failing.includes(next.value.id));
	}
	return { models, end: next.value };
}

describe("the walk through a dynamic route", () => {
	it("calls a model and ends", async () => {
		expect(await visited([start("a"), model("a", "end"), END])).toEqual({ models: ["a"], end: "end" });
	});

	it("follows the fallback of a model that fails", async () => {
		const route = [start("a"), model("a", "end", "b"), model("b", "end", "c"), model("c", "end"), END];
		expect(await visited(route, {}, ["a"])).toEqual({ models: ["a", "b"], end: "end" });
		expect(await visited(route, {}, ["a", "b", "c"])).toEqual({ models: ["a", "b", "c"], end: "end" });
	});

	it("calls the model after a model that succeeds", async () => {
		expect(await visited([start("a"), model("a", "b"), model("b", "end"), END])).toEqual({
			models: ["a", "b"],
			end: "end",
		});
	});

	it.each([
		["pro", ["yes"]],
		["free", ["no"]],
	])("chooses by a condition: the plan %s", async (plan, models) => {
		const route: Element[] = [
			start("if"),
			{
				id: "if",
				type: "conditional",
				properties: { conditions: { "metadata.plan": "pro" } },
				outputs: { true: to("yes"), false: to("no") },
			},
			model("yes", "end"),
			model("no", "end"),
			END,
		];
		const facts = { metadata: { plan }, body: {}, headers: {} };
		expect((await visited(route, { facts })).models).toEqual(models);
	});

	it.each([
		[0, "ten"],
		[0.0999, "ten"],
		[0.1, "thirty"],
		[0.3999, "thirty"],
		[0.4, "sixty"],
		[0.999999, "sixty"],
	])("draws by percentages: %s", async (point, drawn) => {
		const outputs = { "10%": to("ten"), "30%": to("thirty"), "60%": to("sixty") };
		const route: Element[] = [
			start("split"),
			{ id: "split", type: "percentage", outputs },
			...["ten", "thirty", "sixty"].map((id) => model(id, "end")),
			END,
		];
		expect((await visited(route, { random: () => point })).models).toEqual([drawn]);
	});

	const rate = (outputs: RateElement["outputs"], key = "metadata.user"): Element[] => [
		start("rate"),
		{
			id: "rate",
			type: "rate",
			properties: { limitType: "count", key, limit: 1, window: 60 },
			outputs,
		},
		model("a", "end"),
		model("b", "end"),
		END,
	];

	it("calls the limit with the value of its key", async () => {
		const admissions: unknown[] = [];
		const admit: WalkContext["admit"] = async ({ id, properties: { limit, window } }, value) => {
			admissions.push([id, limit, window, value]);
			return true;
		};
		await visited(rate({ success: to("a") }), { admit });
		expect(admissions).toEqual([["rate", 1, 60, "u1"]]);
	});

	it("follows the fallback of a limit that is used up, and ends without one", async () => {
		const admit = async () => false;
		expect(await visited(rate({ success: to("a"), fallback: to("b") }), { admit })).toEqual({
			models: ["b"],
			end: "end",
		});
		expect(await visited(rate({ success: to("a") }), { admit })).toEqual({ models: [], end: "limited" });
	});

	it("does not limit a request without the key", async () => {
		const admit = async () => false;
		expect((await visited(rate({ success: to("a") }, "metadata.team"), { admit })).models).toEqual(["a"]);
	});
});
