import { describe, expect, it } from "vitest";
import { route } from "../../src/pipeline/route.ts";
import type { WeightedTarget } from "../../src/request.ts";

const target = (backend: string, more: Partial<WeightedTarget> = {}): WeightedTarget => ({
	backend,
	kind: "openai",
	urls: [`http://${backend}/v1`],
	model: "m",
	headers: {},
	timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
	...more,
});

const plan = (targets: WeightedTarget[], random = 0) =>
	route("id", { routing: { find: () => ({ targets, named: true }) }, random: () => random }).map(
		({ url }) => url,
	);

describe("route", () => {
	it("keeps the order of targets without weights", () => {
		expect(plan([target("a"), target("b"), target("c")], 0.99)).toEqual([
			"http://a/v1",
			"http://b/v1",
			"http://c/v1",
		]);
	});

	it("draws the first by weight; the others stand in, in order", () => {
		const targets = [target("a", { weight: 9 }), target("b", { weight: 1 }), target("c")];
		expect(plan(targets, 0.89)).toEqual(["http://a/v1", "http://b/v1", "http://c/v1"]);
		expect(plan(targets, 0.91)).toEqual(["http://b/v1", "http://a/v1", "http://c/v1"]);
	});

	it("gives weights their share", () => {
		const targets = [target("a", { weight: 3 }), target("b", { weight: 1 })];
		const firsts = Array.from({ length: 100 }, (_, i) => plan(targets, i / 100)[0]);
		expect(firsts.filter((url) => url === "http://a/v1")).toHaveLength(75);
	});

	it("makes a target of each replica, from a random one on", () => {
		const targets = [target("a", { urls: ["http://1", "http://2", "http://3"] })];
		expect(plan(targets, 0)).toEqual(["http://1", "http://2", "http://3"]);
		expect(plan(targets, 0.5)).toEqual(["http://2", "http://3", "http://1"]);
	});

	it("says so when nothing serves the model", () => {
		expect(() => route("@cf/a/b", { routing: { find: () => undefined }, random: () => 0 })).toThrow(
			"5007: No such model @cf/a/b or task: nothing serves it here (see ROUTES)",
		);
	});
});
