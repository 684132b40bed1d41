import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** `@example` in a docstring, whose first line is a comment with the file that a test runs; and the declaration that follows. */
const EXAMPLE =
	/^ \* @example\n \* ```ts\n \* \/\/ (\S+)\n([\s\S]*?)^ \* ```\n \*\/\nexport [\w ]*?(\w+)(?:<|\(| =| \{)/gm;

describe("the examples of docstrings", () => {
	const examples = globSync("src/**/*.ts").flatMap((path) =>
		[...readFileSync(path, "utf8").matchAll(EXAMPLE)].map(([, file = "", comment = "", name = ""]) => ({
			name,
			file,
			code: comment.replace(/^ \* ?/gm, ""),
		})),
	);

	it("are at all that a contributor implements", () => {
		expect(examples.map(({ name }) => name).sort()).toEqual([
			"Backend",
			"GatewayMiddleware",
			"Reader",
			"TaskDefinition",
			"defineRoutes",
			"run",
		]);
	});

	it.each(examples)("$name: a part of $file, which the tests run", ({ file, code }) => {
		expect(readFileSync(file, "utf8")).toContain(code);
	});
});

describe("CONTRIBUTING.md", () => {
	it("names the files of test/extending", () => {
		const page = readFileSync("CONTRIBUTING.md", "utf8");
		const named = [...page.matchAll(/`(test\/extending\/[^`]+\.ts)`/g)].map(([, file = ""]) => file);
		expect(named.filter((file) => !existsSync(file))).toEqual([]);
		const parts = globSync(["test/extending/*.ts", "test/extending/*/index.ts"]);
		expect(parts.filter((file) => !file.endsWith(".test.ts") && !named.includes(file))).toEqual([]);
	});
});

describe("the providers of gateways.md", () => {
	it("are the table of addresses", () => {
		const source = readFileSync("src/gateways/providers/addresses.ts", "utf8");
		const [, table = ""] = /PROVIDERS: [^=]+ = \{\n([\s\S]*?)\n\};/.exec(source) ?? [];
		const slugs = [...table.matchAll(/^\t"?([a-z-]+)"?: \{/gm)].map(([, slug]) => slug);
		const [, list = ""] = /^Providers: ([^;]+);/m.exec(readFileSync("docs/gateways.md", "utf8")) ?? [];
		expect([...list.matchAll(/`([a-z-]+)`/g)].map(([, slug]) => slug)).toEqual(slugs);
		expect(slugs).toContain("aws-bedrock");
	});
});
