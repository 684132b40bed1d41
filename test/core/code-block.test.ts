import { expect, it } from "vitest";
import { codeBlockIn } from "../../src/core/code-block.ts";

it.each([
	['```json\n{"a":1}\n```', '{"a":1}'],
	["  ```\n[1]\n```\n", "[1]"],
	['```{"a":1}```', '{"a":1}'],
	["```json\r\n{}\r\n```", "{}"],
	["``````", ""],
	["```", undefined],
	['{"a":"```"}', undefined],
	['Here it is:\n```json\n{"a":1}\n```', undefined],
	["", undefined],
])("finds the content of a text that is one code block: %j", (text, content) => {
	expect(codeBlockIn(text)).toBe(content);
});
