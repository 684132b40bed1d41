/**
 * Runs tests in one process for many mutants: vitest and what it has transformed stay loaded, which takes a third of the
 * time of a process for each. Reads a `Job` for each message and answers with a `TestRun`.
 */
import { createVitest, type Vitest } from "vitest/node";

export interface Job {
	root: string;
	/** The source that changed since the last job, absolute. */
	file?: string;
	/** Test files, relative to the root. */
	tests: readonly string[];
}

export interface TestRun {
	passed: boolean;
	/** Of each test file that passed, how long it took. */
	milliseconds: Record<string, number>;
}

let vitest: Vitest | undefined;
let latest: string | undefined;

process.on("message", async (job: Job) => {
	// A failure of vitest itself ends the process, which the sandbox sees.
	process.send?.(await run(job));
});

async function run({ root, file, tests }: Job): Promise<TestRun> {
	vitest ??= await createVitest("test", {
		root,
		project: ["worker"],
		watch: false,
		reporters: [{}],
	});
	// The file of the mutant before is restored.
	for (const changed of [latest, file]) if (changed !== undefined) vitest.invalidateFile(changed);
	latest = file;
	const byPath = new Map(tests.map((test) => [`${root}/${test}`, test]));
	const specifications = await vitest.globTestSpecifications([...tests]);
	const own = specifications.filter(({ moduleId }) => byPath.has(moduleId));
	if (own.length !== byPath.size) throw new Error(`vitest finds ${own.length} of ${tests.join(" ")}`);
	const { testModules, unhandledErrors } = await vitest.runTestSpecifications(own, false);
	const milliseconds: Record<string, number> = {};
	for (const module of testModules) {
		// Those of earlier runs are among them; for the same reason `bail` would count failures of earlier runs.
		const test = byPath.get(module.moduleId);
		if (test === undefined || module.state() !== "passed") continue;
		const { collectDuration, setupDuration, duration } = module.diagnostic();
		milliseconds[test] = collectDuration + setupDuration + duration;
	}
	const passed = Object.keys(milliseconds).length === own.length && unhandledErrors.length === 0;
	return { passed, milliseconds };
}
