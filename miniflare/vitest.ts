/**
 * For `test.setupFiles` of vitest in workerd: recordings are in a file for each file of tests, below the name of each test. Calls outside
 * of tests, as in `beforeAll`, are in the same file.
 *
 *     export default defineConfig({ test: { setupFiles: ["ganglion/vitest"] }, … })
 */
import { env } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { TEST_BINDING_PREFIX } from "./recordings/test-bindings.ts";

interface Tests {
	begin(path: string, test?: string): Promise<void>;
}

const bindings = Object.entries(env as unknown as Record<string, unknown>)
	.filter(([name]) => name.startsWith(TEST_BINDING_PREFIX))
	.map(([, binding]) => binding as Tests);

/** The ids of the tests by name, because tests may have the same name. */
const ids = new Map<string, string[]>();

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
	await begin(testPath, number > 1 ? `${currentTestName} (${number})` : currentTestName);
});
afterEach(() => begin(expect.getState().testPath ?? ""));
