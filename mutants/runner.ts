/**
 * Runs tests in one process for many bugs: vitest and what it has transformed stay loaded, which takes a third of the
 * time of a process for each. Reads `{root, file, tests}` as messages; `file` has changed since the last one.
 */
import { createVitest, type Vitest } from "vitest/node";
import type { Verdict } from "./sandbox.ts";

export interface Job {
	root: string;
	/** The changed source, absolute. */
	file?: string;
	/** Test files, relative to the root. */
	tests: readonly string[];
}

let vitest: Vitest | undefined;
let latest: string | undefined;

process.on("message", async (job: Job) => {
	// A failure of vitest itself ends the process, which the sandbox sees.
	process.send?.(await run(job));
});

async function run({ root, file, tests }: Job): Promise<Verdict> {
	vitest ??= await createVitest("test", {
		root,
		project: ["worker"],
		watch: false,
		reporters: [{}],
	});
	// The file of the bug before is restored.
	for (const changed of [latest, file]) if (changed !== undefined) vitest.invalidateFile(changed);
	latest = file;
	const wanted = new Set(tests.map((test) => `${root}/${test}`));
	const specifications = await vitest.globTestSpecifications([...tests]);
	const own = specifications.filter(({ moduleId }) => wanted.has(moduleId));
	if (own.length !== wanted.size) throw new Error(`vitest finds ${own.length} of ${tests.join(" ")}`);
	const { testModules, unhandledErrors } = await vitest.runTestSpecifications(own, false);
	// Those of earlier runs are among them; for the same reason `bail` would count failures of earlier runs.
	const passed = testModules.filter((module) => wanted.has(module.moduleId) && module.state() === "passed");
	return passed.length === own.length && unhandledErrors.length === 0 ? "survived" : "killed";
}
