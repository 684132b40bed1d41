/**
 * For `test.setupFiles` of vitest in workerd: recordings are in a file for each file of tests, below the name of each test. Calls outside
 * of tests, as in `beforeAll`, are in the same file.
 *
 *     export default defineConfig({ test: { setupFiles: ["ganglion/vitest"] }, … })
 */
import { env } from "cloudflare:test";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { TEST_BINDING_PREFIX } from "./recordings/test-bindings.ts";

interface Tests {
	begin(path: string, test?: string): Promise<void>;
	end(path: string, tests: { passed: string[]; others: string[] }): Promise<void>;
}

/** A test, or a suite or a file with its tasks. */
interface Task {
	id: string;
	name: string;
	tasks?: Task[];
	result?: { state: string } | undefined;
}

const bindings = Object.entries(env as unknown as Record<string, unknown>)
	.filter(([name]) => name.startsWith(TEST_BINDING_PREFIX))
	.map(([, binding]) => binding as Tests);

/** The ids of the tests by name, because tests may have the same name. */
const ids = new Map<string, string[]>();

/** The names of the recordings of the tests that began, by their ids. */
const names = new Map<string, string>();

/** The file of the tests, if one of them began. */
let file: Task | undefined;

async function begin(path: string, test?: string): Promise<void> {
	await Promise.all(bindings.map((binding) => binding.begin(path, test)));
}

beforeAll(() => begin(expect.getState().testPath ?? ""));
beforeEach(async ({ task }) => {
	const { currentTestName = "", testPath = "" } = expect.getState();
	const sameName = ids.get(currentTestName) ?? [];
	if (!sameName.includes(task.id)) sameName.push(task.id);
	ids.set(currentTestName, sameName);
	const number = sameName.indexOf(task.id) + 1;
	const name = number > 1 ? `${currentTestName} (${number})` : currentTestName;
	names.set(task.id, name);
	file = task.file;
	await begin(testPath, name);
});
afterEach(() => begin(expect.getState().testPath ?? ""));
afterAll(async () => {
	if (!file) return;
	const passed: string[] = [];
	const others: string[] = [];
	const collect = ({ id, name, result, tasks }: Task, above: readonly string[]): void => {
		if (tasks) for (const task of tasks) collect(task, [...above, name]);
		else if (result?.state === "pass") passed.push(names.get(id) ?? name);
		else others.push(names.get(id) ?? [...above, name].join(" > "));
	};
	for (const task of file.tasks ?? []) collect(task, []);
	const { testPath = "" } = expect.getState();
	await Promise.all(bindings.map((binding) => binding.end(testPath, { passed, others })));
});
