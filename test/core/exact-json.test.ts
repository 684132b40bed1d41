import { describe, expect, it } from "vitest";
import { parseExactly } from "../../src/core/exact-json.ts";

describe("parseExactly", () => {
	it.each([
		'{"id":9223372036854775807,"list":[-9007199254740993,18446744073709551615]}',
		'{"safe":9007199254740991,"small":[0,-1],"text":"9223372036854775807"}',
		'{"huge":1e400,"fraction":0.25,"nothing":null,"flag":true}',
	])("keeps all digits: %s", (text) => {
		expect(JSON.stringify(parseExactly(text))).toBe(text);
	});

	it("keeps them in a copy, too, and parses all other values as usual", () => {
		const value = parseExactly('{"id":9223372036854775807,"count":12}') as Record<string, unknown>;
		expect(value.count).toBe(12);
		expect(JSON.stringify({ ...value, more: 1 })).toBe('{"id":9223372036854775807,"count":12,"more":1}');
	});

	it("returns nothing for a text that is not JSON", () => {
		expect(parseExactly("{")).toBeUndefined();
	});
});
