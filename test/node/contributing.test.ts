import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const EXAMPLE = /^`(test\/extending\/[^`]+)`:\n\n```ts\n([\s\S]*?)```$/gm;

describe("the examples of CONTRIBUTING.md", () => {
	const examples = [...readFileSync("CONTRIBUTING.md", "utf8").matchAll(EXAMPLE)];

	it("are all there", () => {
		expect(examples.map(([, file]) => file)).toEqual([
			"test/extending/language-detection/index.ts",
			"test/extending/tables/tasks.ts",
			"test/extending/detect-language.ts",
			"test/extending/tables/model-families.ts",
			"test/extending/tables/dialect-families.ts",
			"test/extending/lingua.ts",
			"test/extending/tables/kinds.ts",
			"test/extending/tables/providers.ts",
			"test/extending/language-routes.ts",
			"test/extending/tables/routes.ts",
		]);
	});

	it.each(examples.map(([, file = "", code]) => [file, code]))(
		"%s is the file that the tests run",
		(file, code) => {
			expect(code).toBe(readFileSync(file, "utf8"));
		},
	);
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
