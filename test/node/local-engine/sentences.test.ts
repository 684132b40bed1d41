/** Errors of the libraries that run ONNX models: what callers and logs see of them. */
import { expect, it } from "vitest";
import { sentenceOf } from "../../../engine/failure.ts";
import { logitsOf } from "../../../engine/numbers.ts";

const failureOf = (code: () => unknown): unknown => {
	try {
		code();
	} catch (error) {
		return error;
	}
	throw new Error("expected a failure");
};
const absent = undefined as unknown as { data: number[] };
const FORM = "the files, or the results, have another form than those of the task";

it.each([
	["a field of nothing", () => absent.data, FORM],
	["a call of no function", () => (absent as unknown as () => void)(), FORM],
	["a list of no length", () => new Float32Array(-1), FORM],
	["a name that is not there", () => Reflect.get(globalThis, "eval")("neverDeclared"), FORM],
	["a text that is no JSON", () => JSON.parse("<html>"), "one of the files is no JSON"],
	[
		"a sentence of the library",
		() => {
			throw new Error("Unsupported model type: gpt9");
		},
		"Unsupported model type: gpt9",
	],
])("of %s", (_, code, sentence) => {
	expect(sentenceOf(failureOf(code))).toBe(sentence);
});

it("of a value that is no error", () => {
	expect(sentenceOf("[object Object]")).toBe(FORM);
});

it.each([
	["nothing", {}],
	["no dimensions", { logits: { dims: [], data: [1, 2] } }],
	["fewer rows", { logits: { dims: [1, 1], data: [1] } }],
	["fewer values", { logits: { dims: [2, 1], data: [1] } }],
	["rows without values", { logits: { dims: [2, 0], data: [] } }],
])("scores of a model that gives %s are a sentence, not NaN", (_, outputs) => {
	expect(() => logitsOf(outputs, 2)).toThrow("the model gives no score for each text");
});

it("scores of a model are its rows", () => {
	expect(logitsOf({ logits: { dims: [2, 1], data: [0.5, 1.5] } }, 2)).toEqual({
		values: [0.5, 1.5],
		width: 1,
	});
});
