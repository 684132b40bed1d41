/** A start of the gateway loads no code that it does not run. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ganglion } from "./cli/run.ts";

const AT_EXIT = `process.once("exit", () => console.log(process.moduleLoadList.join()));`;

it("without the code of fetch, which an import of node:http loads", async () => {
	const { stdout, stderr } = await ganglion(["serve", "--state", "package.json"], {
		env: {
			NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AT_EXIT)}`,
			ALLOW_ANONYMOUS: "true",
			DEFAULT_BACKEND: "simulator",
		},
	});
	// It has come to the place where it starts.
	expect(stderr).toMatch(/^cannot keep state in /);
	const loaded = stdout.trim().split(",");
	expect(loaded).toContain("NativeModule http");
	expect(loaded.filter((name) => name.includes("undici"))).toEqual([]);
});

it("and no module of a command imports node:http", () => {
	const files = globSync("{cli,scripts}/**/*.ts");
	expect(files.length).toBeGreaterThan(100);
	expect(
		files.filter((file) =>
			/^import (?!type\b)[^;]*? from "(?:node:)?https?";$/m.test(readFileSync(file, "utf8")),
		),
	).toEqual([]);
});
