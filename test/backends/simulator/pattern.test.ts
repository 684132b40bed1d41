import { describe, expect, it } from "vitest";
import { fromPattern } from "../../../src/backends/simulator/pattern.ts";

describe("fromPattern", () => {
	it.each([
		"^[A-Z]{3}-\\d{4}$",
		"^(foo|ba[rz])+$",
		"^\\+?[1-9]\\d{1,14}$",
		"^#[0-9a-fA-F]{6}$",
		"^[^,;a]+@[a-z]+\\.(com|org)$",
		"^(?:\\d{1,3}\\.){3}\\d{1,3}$",
		"^(?<year>\\d{4})-\\d{2}$",
		"\\u0041\\x42\\.\\u{1F600}\\ud83d\\ude00\\cA",
		"^\\s\\S\\w\\W\\D$",
		"^[^\\s\\d]😀[😀-😂]$",
		"^.{3,}$",
		"(?:\\p{L}|b)",
		"a|bc",
		"",
	])("%s", (pattern) => expect(fromPattern(pattern, 0)).toMatch(new RegExp(pattern, "u")));

	it("has the requested length", () => {
		expect(fromPattern("^x[a-z]+$", 5)).toBe("xaaaa");
		expect(fromPattern("^(ab)*$", 5)).toBe("ababab");
		expect(fromPattern("^abc$", 5)).toBe("abc");
	});

	it("returns undefined for unsupported patterns", () => {
		for (const pattern of ["(?=a)a", "(a)\\1", "\\p{L}", "[", "(", "a)", "[^\\s\\S]", "a{100000}"])
			expect(fromPattern(pattern, 0)).toBeUndefined();
	});
});
