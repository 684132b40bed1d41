/**
 * For `test.setupFiles` of vitest in workerd: recordings are in a file for each file of tests, below the name of each test.
 *
 *     export default defineConfig({ test: { setupFiles: ["ganglion/vitest"] }, … })
 */
import { env } from "cloudflare:test";
import { beforeEach, expect } from "vitest";

/** The plugin adds a binding with this prefix for each binding that has recordings. */
const PREFIX = "GANGLION_RECORDINGS_";

interface Tests {
	begin(path: string, test: string): Promise<void>;
}

const bindings = Object.entries(env as unknown as Record<string, unknown>)
	.filter(([name]) => name.startsWith(PREFIX))
	.map(([, binding]) => binding as Tests);

beforeEach(async () => {
	const { currentTestName = "", testPath = "" } = expect.getState();
	await Promise.all(bindings.map((binding) => binding.begin(testPath, currentTestName)));
});
