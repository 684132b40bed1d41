import { describe, expect, it } from "vitest";
import { idNotFound, notFound } from "../../src/core/not-found.ts";

describe("a thing that is not found", () => {
	it.each([
		["fast", {}, 'Alias not found: "fast"'],
		["fats", { known: ["slow", "fast"] }, 'Alias not found: "fats"; did you mean "fast"?'],
		["fats", { known: ["fast"], cure: "; a cure" }, 'Alias not found: "fats"; did you mean "fast"?'],
		["fast", { known: ["fast", "fats"] }, 'Alias not found: "fast"; did you mean "fats"?'],
		["none", { known: ["fast"], cure: "; a cure" }, 'Alias not found: "none"; a cure'],
		["x".repeat(65), {}, `Alias not found: "${"x".repeat(64)}…"`],
		[`${"x".repeat(63)}😀`, {}, `Alias not found: "${"x".repeat(63)}\ufffd…"`],
		['a"\n\ud800', {}, 'Alias not found: "a\\"\\n\ufffd"'],
	])("has its name: %j, %j", (name, hints, description) => {
		expect(notFound("Alias", name, hints)).toMatchObject({ key: "notFound", status: 404, description });
	});

	it.each([
		["9", 'Route not found: "9"; a cure'],
		["fast", 'Route not found: "fast"; the id of "fast" is "1"'],
		["slwo", 'Route not found: "slwo"; the id of "slow" is "2"'],
		["quick", 'Route not found: "quick"; the id of "quick" is "1"'],
	])("has the id of the name that was sent in its place: %s", (asked, description) => {
		const things = [
			{ id: "1", names: ["fast", "quick"] },
			{ id: "2", names: ["slow"] },
		];
		expect(idNotFound("Route", asked, things, "; a cure").description).toBe(description);
	});
});
