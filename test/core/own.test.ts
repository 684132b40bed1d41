import { describe, expect, it } from "vitest";
import { own } from "../../src/core/own.ts";

const table: Readonly<Record<string, number>> = { one: 1, none: 0 };

describe("a value of a table", () => {
	it("is found by its name", () => {
		expect(own(table, "one")).toBe(1);
		expect(own(table, "none")).toBe(0);
	});

	it.each(["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "two", "", undefined])(
		"is not found by the name %s, which the table does not have itself",
		(name) => {
			expect(own(table, name)).toBeUndefined();
		},
	);

	it("is found by a name that hides what every object inherits", () => {
		expect(own(JSON.parse('{"__proto__":1,"constructor":2}') as typeof table, "__proto__")).toBe(1);
		expect(own({ constructor: 2 }, "constructor")).toBe(2);
	});
});
