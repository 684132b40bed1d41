/**
 * Runs the tests of many mutants in one process. vitest and its transformed modules stay loaded, so this takes a third of the time of
 * separate processes. Reads a `Job` from each message and answers with a `TestRun`.
 */
import { createVitest, type TestModule, type Vitest } from "vitest/node";

export interface Job {
	root: string;
	/** The source that changed since the last job, absolute. */
	file?: string;
	/** Test files, relative to the root. */
	tests: readonly string[];
}

export interface TestRun {
	/** Errors by test file; by an empty name if they belong to no file. Empty if all tests have passed. */
	failures: Record<string, string>;
	/** Duration of each test file that passed. */
	milliseconds: Record<string, number>;
}

/** A test that waits longer does not end. In the suite the limit is longer, because late modules are transformed there. */
const TEST_TIMEOUT_MS = 20_000;

let vitest: Vitest | undefined;
let latest: string | undefined;

process.on("message", async (job: Job) => {
	// If vitest itself fails, the process exits, and the sandbox detects that.
	process.send?.(await run(job));
});

async function run({ root, file, tests }: Job): Promise<TestRun> {
	vitest ??= await createVitest("test", {
		root,
		project: "worker",
		watch: false,
		reporters: [{}],
		// The first failure decides.
		bail: 1,
		testTimeout: TEST_TIMEOUT_MS,
		// Each Worker evaluates all modules, which takes longer than most tests.
		maxWorkers: 1,
	});
	// The file of the previous mutant is restored.
	for (const changed of [latest, file]) if (changed !== undefined) vitest.invalidateFile(changed);
	latest = file;
	const byPath = new Map(tests.map((test) => [`${root}/${test}`, test]));
	const specifications = await vitest.globTestSpecifications([...tests]);
	const selected = specifications.filter(({ moduleId }) => byPath.has(moduleId));
	if (selected.length !== byPath.size)
		throw new Error(`vitest finds ${selected.length} of ${tests.join(" ")}`);
	const { testModules, unhandledErrors } = await vitest.runTestSpecifications(selected, false);
	const milliseconds: Record<string, number> = {};
	const failures: Record<string, string> = {};
	for (const module of testModules) {
		// The list includes modules of earlier runs.
		const test = byPath.get(module.moduleId);
		if (test === undefined) continue;
		if (module.state() !== "passed") {
			const errors = errorsOf(module);
			// The first failure ends the run: the tests of other files are skipped.
			if (errors.length > 0) failures[test] = errors.join("; ");
			continue;
		}
		const { collectDuration, setupDuration, duration } = module.diagnostic();
		milliseconds[test] = collectDuration + setupDuration + duration;
	}
	const errors = unhandledErrors.map(messageOf);
	if (errors.length > 0) failures[""] = errors.join("; ");
	const missing = selected.length - Object.keys(milliseconds).length;
	const isBroken =
		errors.some((error) => error.startsWith("[vitest-pool]")) ||
		(missing > 0 && Object.keys(failures).length === 0);
	if (isBroken) throw new Error(`${missing} files have not run: ${errors.join("; ")}`);
	return { failures, milliseconds };
}

function errorsOf(module: TestModule): string[] {
	const failed = [...module.children.allTests("failed")];
	return [
		...module.errors().map(messageOf),
		...failed.map((test) => [test.fullName, ...(test.result().errors ?? []).map(messageOf)].join(": ")),
	];
}

/** Errors of the Worker arrive as plain objects. */
const messageOf = (error: unknown): string =>
	typeof error === "object" && error !== null && "message" in error ? String(error.message) : String(error);
