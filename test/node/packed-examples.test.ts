/** The examples in the package of npm: each works without the repository. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("are those that need no file of the repository", () => {
	const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
	const [packed] = JSON.parse(
		execFileSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
	);
	const files: string[] = packed.files.map(({ path }: { path: string }) => path);
	const examples = files.filter((path) => path.startsWith("examples/"));
	expect([...new Set(examples.map((path) => path.split("/")[1]))].sort()).toEqual([
		"agent",
		"local-binding",
		"rag",
	]);
	const outside = /"(?:\.\.\/){2,}(?:src|cli|scripts|miniflare)\//;
	expect(examples.filter((path) => outside.test(readFileSync(path, "utf8")))).toEqual([]);
});
