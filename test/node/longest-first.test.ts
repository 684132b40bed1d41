import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { LONG_FILES, rankOf } from "../longest-first.ts";
import { SLOW_FILES, SLOW_FOLDERS } from "../slow-in-workerd.ts";

it("starts the three longest process tests, then the tests inside workerd, then the other long files, then the console", () => {
	const files: [project: string, file: string][] = [
		["node", "/checkout/test/node/layout.test.ts"],
		["console", "/checkout/test/console/models.test.ts"],
		["clients", "/checkout/test/clients/openai.test.ts"],
		["node", "/checkout/test/node/faults.test.ts"],
		["worker", "/checkout/test/loop.test.ts"],
		["extending", "/checkout/test/extending/extending.test.ts"],
		["node", "/checkout/test/node/plugin.test.ts"],
		["node", "/checkout/test/node/serve.test.ts"],
		["node", "/checkout/test/node/dev.test.ts"],
		["clients", "/checkout/test/clients/wrangler.test.ts"],
	];
	expect(files.map(([project, file]) => rankOf(project, file))).toEqual([5, 4, 5, 3, 2, 2, 1, 1, 1, 3]);
});

it("names files and folders that exist", () => {
	expect([...LONG_FILES, ...SLOW_FILES, ...SLOW_FOLDERS].filter((path) => !existsSync(path))).toEqual([]);
});
