/** The option `recordings`, and the variables that replace its mode. */
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
	announceRecording,
	type RecordedBinding,
	refuseFilesWithoutTests,
	refuseSharedFolder,
} from "../../../miniflare/recordings/recorded-binding.ts";
import { readRecordingOption } from "../../../miniflare/recordings/settings.ts";
import { nameOf } from "../../../miniflare/recordings/test-names.ts";

const read = (option: unknown, env: Record<string, string> = {}) =>
	readRecordingOption(option, { binding: "AI", env, root: tmpdir() });

describe("the option recordings", () => {
	it("is a folder or settings, in the folder of the project, with a folder for the binding", () => {
		const root = tmpdir();
		const defaults = { mode: "once", ignore: [], speed: undefined, roots: [root, realpathSync(root)] };
		expect(read(undefined)).toBeUndefined();
		expect(read("answers")).toEqual({ ...defaults, folder: join(root, "answers/AI") });
		expect(read({})).toEqual({ ...defaults, folder: join(root, "recordings/AI") });
		expect(read({ folder: "/elsewhere", mode: "replay", ignore: ["seed"], speed: 2 })).toEqual({
			folder: resolve("/elsewhere/AI"),
			...{ mode: "replay", ignore: ["seed"], speed: 2, roots: [root, realpathSync(root)] },
		});
	});

	it.each([
		["once", {}, "once"],
		["once", { CI: "true" }, "replay"],
		["record", { CI: "1" }, "replay"],
		["once", { CI: "false" }, "once"],
		["once", { CI: "" }, "once"],
		["once", { CI: "0" }, "once"],
		["replay", { GANGLION_RECORDINGS: "record" }, "record"],
		["replay", { CI: "true", GANGLION_RECORDINGS: "once" }, "once"],
		["once", { GANGLION_RECORDINGS: "" }, "once"],
	])("%s with %j is %s", (mode, env, expected) => {
		expect(read({ mode }, env)?.mode).toBe(expected);
	});

	it("takes paths as the message about a call without a recording has them", () => {
		expect(read({ ignore: ["messages[0].content", "messages[*].id"] })?.ignore).toEqual([
			"messages.0.content",
			"messages.*.id",
		]);
	});

	it("is strict also in CI, and by the variable", () => {
		expect(read({ mode: "strict" }, { CI: "true" })?.mode).toBe("strict");
		expect(read("answers", { GANGLION_RECORDINGS: "strict" })?.mode).toBe("strict");
		expect(read("answers", { CI: "true" })?.mode).toBe("replay");
	});

	it("is off with the mode off", () => {
		expect(read({ mode: "off" }, { CI: "true" })).toBeUndefined();
		expect(read("answers", { GANGLION_RECORDINGS: "off" })).toBeUndefined();
	});

	it.each([
		[{ folder: 1 }, {}, "dev.options.recordings.folder: expected text, found a number"],
		[{ mod: "once" }, {}, 'dev.options.recordings.mod: expected no such field; did you mean "mode"?'],
		[
			{ mode: "onec" },
			{},
			'dev.options.recordings.mode: expected "replay", "strict", "once", "record", "prune" or "off", found "onec"; did you mean "once"?',
		],
		[{ ignore: ["a..b"] }, {}, "dev.options.recordings.ignore[0]: expected a path such as messages.*.id"],
		[{ speed: 0 }, {}, "dev.options.recordings.speed: expected more than 0, found 0"],
		[true, {}, "dev.options.recordings: expected an object, found true"],
		[
			"a",
			{ GANGLION_RECORDINGS: "strickt" },
			'GANGLION_RECORDINGS: expected "replay", "strict", "once", "record", "prune" or "off", found "strickt"; did you mean "strict"?',
		],
	])("refuses %j with %j", (option, env, problem) => {
		expect(() => read(option, env)).toThrow(problem);
	});
});

describe("the name of a file of tests", () => {
	it.each([
		["/repo/app/test/ask.test.ts", ["/repo/app"], "test/ask.test.ts"],
		["/real/app/test/ask.test.ts", ["/link/app", "/real/app/"], "test/ask.test.ts"],
		["C:/w/app/test/ask.test.ts", ["C:\\w\\app"], "test/ask.test.ts"],
		["/repo/app-tests/ask.test.ts", ["/repo/app"], "ask.test.ts"],
		["/elsewhere/ask.test.ts", ["/repo/app"], "ask.test.ts"],
	])("of %s in %j is %s", (path, folders, expected) => {
		expect(nameOf(path, folders)).toBe(expected);
	});
});

it("is refused in the mode prune if two projects of vitest share its folder", () => {
	const prune = (worker: string, folder: string) => {
		const settings = read({ folder, mode: "prune" });
		if (settings) refuseSharedFolder(worker, settings);
	};
	prune("vitest-plugin-runner-unit", "shared");
	// A reload of the same project, another folder, and a Worker beside the one under test.
	prune("vitest-plugin-runner-unit", "shared");
	prune("vitest-plugin-runner-e2e", "own");
	prune("app", "shared");
	expect(() => prune("vitest-plugin-runner-e2e", "shared")).toThrow(
		'The mode prune: the projects "unit" and "e2e" of vitest share shared/AI, and neither knows what the other uses: set options.recordings.folder of one',
	);
});

it("is refused in the mode strict with paths that can be deleted, if no file of tests belongs to its files", () => {
	const settings = read({ folder: "recordings", mode: "strict" });
	if (!settings) throw new Error("expected settings");
	const refuse =
		(...files: string[]) =>
		() =>
			refuseFilesWithoutTests(files, settings);
	expect(refuse()).not.toThrow();
	expect(refuse("test/old.test.ts.json")).toThrow(
		"The mode strict: no file of tests belongs to recordings/AI/test/old.test.ts.json: delete it, or restore the file of tests",
	);
	expect(refuse("a.test.ts.json", "b.test.ts.json")).toThrow(
		"no file of tests belongs to recordings/AI/a.test.ts.json, recordings/AI/b.test.ts.json: delete them, or restore the files of tests",
	);
});

it("says in the mode strict that ganglion/vitest finds unused recordings", () => {
	const settings = read({ folder: "strict", mode: "strict" });
	const lines: string[] = [];
	announceRecording({ name: "AI", settings } as RecordedBinding, (line) => lines.push(line));
	expect(lines).toEqual([
		"ganglion: AI is answered from the recordings, and fails a file of tests with an unused one (with ganglion/vitest in setupFiles), in strict/AI",
	]);
});
