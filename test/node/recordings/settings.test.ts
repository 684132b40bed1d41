/** The option `recordings`, and the variables that replace its mode. */
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readRecordingOption } from "../../../miniflare/recordings/settings.ts";
import { unusedSecrets } from "../../../miniflare/unused-secrets.ts";

const read = (option: unknown, env: Record<string, string> = {}) =>
	readRecordingOption(option, { binding: "AI", env, root: resolve("/app") });

describe("the option recordings", () => {
	it("is a folder or settings, in the folder of the project, with a folder for the binding", () => {
		const root = resolve("/app");
		const defaults = { mode: "once", ignore: [], speed: undefined, root };
		expect(read(undefined)).toBeUndefined();
		expect(read("answers")).toEqual({ ...defaults, folder: resolve("/app/answers/AI") });
		expect(read({})).toEqual({ ...defaults, folder: resolve("/app/recordings/AI") });
		expect(read({ folder: "/elsewhere", mode: "replay", ignore: ["seed"], speed: 2 })).toEqual({
			folder: resolve("/elsewhere/AI"),
			...{ mode: "replay", ignore: ["seed"], speed: 2, root },
		});
	});

	it.each([
		["once", {}, "once"],
		["once", { CI: "true" }, "replay"],
		["record", { CI: "1" }, "replay"],
		["once", { CI: "false" }, "once"],
		["once", { CI: "" }, "once"],
		["replay", { GANGLION_RECORDINGS: "record" }, "record"],
		["replay", { CI: "true", GANGLION_RECORDINGS: "once" }, "once"],
		["once", { GANGLION_RECORDINGS: "" }, "once"],
	])("%s with %j is %s", (mode, env, expected) => {
		expect(read({ mode }, env)?.mode).toBe(expected);
	});

	it("is off with the mode off", () => {
		expect(read({ mode: "off" }, { CI: "true" })).toBeUndefined();
		expect(read("answers", { GANGLION_RECORDINGS: "off" })).toBeUndefined();
	});

	it.each([
		[{ folder: 1 }, {}, "dev.options.recordings.folder: expected text, found a number"],
		[{ mod: "once" }, {}, 'dev.options.recordings.mod: expected no such field; did you mean "mode"?'],
		[{ mode: "all" }, {}, 'dev.options.recordings.mode: expected "replay", "once", "record" or "off"'],
		[{ ignore: ["a..b"] }, {}, "dev.options.recordings.ignore[0]: expected a path such as messages.*.id"],
		[{ speed: 0 }, {}, "dev.options.recordings.speed: expected more than 0, found 0"],
		[true, {}, "dev.options.recordings: expected an object, found true"],
		[
			"a",
			{ GANGLION_RECORDINGS: "all" },
			'GANGLION_RECORDINGS: expected "replay", "once", "record" or "off"',
		],
	])("refuses %j with %j", (option, env, problem) => {
		expect(() => read(option, env)).toThrow(problem);
	});
});

describe("a session that replays", () => {
	it("has a value for each variable that its options may name", () => {
		const options = {
			BACKENDS: { a: { key: "OPENAI_KEY", headers: [{ x: "TOKEN" }], url: "http://localhost:1" } },
		};
		expect(Object.keys(unusedSecrets(options)).sort()).toEqual(["OPENAI_KEY", "TOKEN"]);
	});
});
