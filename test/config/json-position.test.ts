import { describe, expect, it } from "vitest";
import { jsonMistakeAt } from "../../src/config/json-position.ts";

describe("jsonMistakeAt", () => {
	it.each([
		['{"a": }', "line 1, column 7"],
		['{"a":1,}', "line 1, column 8"],
		['{\n  "a": [1,\n    2 3]\n}', "line 3, column 7"],
		["{'a':1}", "line 1, column 2"],
		['{"a":tru}', "line 1, column 9"],
		['{"a":"\\x"}', "line 1, column 8"],
		['{"a":"one\ntwo"}', "line 1, column 10"],
		["ollama", "line 1, column 1"],
		['{"a":1}}', "line 1, column 8"],
		['{"a":[1', "it ends too early"],
		['{"a":"b', "it ends too early"],
		["", "it ends too early"],
	])("%j: %s", (text, where) => {
		expect(jsonMistakeAt(text)).toBe(where);
	});
});
