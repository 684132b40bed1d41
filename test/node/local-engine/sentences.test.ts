/** Errors while ONNX models run: what callers and logs see of those of the libraries, and of those of the engine's own code. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";
import { modelFailure } from "../../../engine/failure.ts";
import { loggedFault, ownFault } from "../../../engine/fault.ts";
import { logitsOf, meanOf } from "../../../engine/numbers.ts";

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
	const error = failureOf(code);
	expect([modelFailure(error), ownFault(error)]).toEqual([sentence, undefined]);
});

it("an error of the engine's own code is its fault, and has a place, but not the message", () => {
	const error = failureOf(() => meanOf(absent as never, undefined, 0));
	expect(error).toBeInstanceOf(TypeError);
	const fault = ownFault(error);
	expect(fault).toMatchObject({ name: "TypeError" });
	expect(fault?.frames[0]).toMatch(/^at (?:Module\.)?meanOf \(.*numbers\.ts:\d+:\d+\)$/);
	expect(JSON.stringify(fault)).not.toContain((error as Error).message);
});

it.each([
	[
		"of a library that own code has called",
		`at read (LIBRARY/models.js:1:2)\n    at run (OWN/tasks.js:3:4)`,
		false,
	],
	[
		"of own code that a library has called",
		`at run (OWN/tasks.js:3:4)\n    at read (LIBRARY/models.js:1:2)`,
		true,
	],
	["of the runtime in own code", `at new Float32Array (<anonymous>)\n    at OWN/tasks.js:3:4`, true],
	["of the runtime in a library", `at JSON.parse (<anonymous>)\n    at async LIBRARY/models.js:3:4`, false],
])("an error %s", (_, frames, isOwn) => {
	const own = pathToFileURL(join(import.meta.dirname, "../../../engine")).href;
	const stack = frames.replaceAll("OWN", own).replaceAll("LIBRARY", `${own}/node_modules/library`);
	const error = Object.assign(new TypeError("x of undefined"), {
		stack: `TypeError: x of undefined\n    ${stack}`,
	});
	expect(ownFault(error) !== undefined).toBe(isOwn);
});

it("a fault of the engine is logged with its place, and the caller is sent to the log", () => {
	const log = vi.spyOn(console, "error").mockImplementation(() => {});
	const fault = { name: "TypeError", frames: ["at run (tasks.js:3:4)"] };
	const [ofModel, ofServer] = [loggedFault(fault, "m"), loggedFault(fault)];
	const lines = log.mock.calls;
	log.mockRestore();
	expect([ofModel.status, ofModel.message, ofServer.message]).toEqual([
		500,
		"The engine has failed with m: the gateway's log names the place in the code",
		"The engine has failed: the gateway's log names the place in the code",
	]);
	expect(lines).toEqual(Array(2).fill(["fault: TypeError at run (tasks.js:3:4)"]));
});

it("of a value that is no error", () => {
	expect([modelFailure("[object Object]"), ownFault("[object Object]")]).toEqual([FORM, undefined]);
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
