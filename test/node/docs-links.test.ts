/** The documents of the package: their links lead into the package, and the files and scripts that they name exist. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, matchesGlob, relative } from "node:path";
import { describe, expect, it } from "vitest";

const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: string[] };
/** npm adds these to every package. */
const ALWAYS = ["README.md", "LICENSE", "package.json"];
const matches = (path: string, pattern: string): boolean =>
	matchesGlob(path, pattern) || path === pattern || path.startsWith(`${pattern}/`);

const isPacked = (path: string): boolean =>
	ALWAYS.includes(path) ||
	(files.some((one) => matches(path, one)) &&
		!files.some((one) => one.startsWith("!") && matches(path, one.slice(1))));

const DOCUMENTS = globSync([
	"README.md",
	"CHANGELOG.md",
	"CONTRIBUTING.md",
	"docs/*.md",
	"examples/*/README.md",
]).filter(isPacked);

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
	heading
		.toLowerCase()
		.replace(/[^\p{L}\p{N}\s_-]/gu, "")
		.trim()
		.replaceAll(" ", "-");

const anchorsIn = (path: string): string[] =>
	[...readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));

const linksIn = (path: string): string[] =>
	[
		...readFileSync(path, "utf8")
			.replace(/^```.*?^```/gms, "")
			.matchAll(/\]\(([^)\s]+)\)/g),
	].map(([, link = ""]) => link);

function brokenReason(document: string, link: string): string | undefined {
	const [path = "", anchor] = link.split("#");
	const target = path ? relative(".", join(dirname(document), path)) : document;
	if (!existsSync(target)) return "does not exist";
	if (!isPacked(target)) return "is not in the package";
	if (anchor && statSync(target).isFile() && !anchorsIn(target).includes(anchor))
		return "has no such heading";
	return undefined;
}

describe("links in documents of the package", () => {
	it("are found", () => {
		expect(DOCUMENTS.flatMap(linksIn).length).toBeGreaterThan(80);
		expect(brokenReason("README.md", "docs/none.md")).toBe("does not exist");
		expect(brokenReason("README.md", "test/clients")).toBe("is not in the package");
		expect(brokenReason("README.md", "examples/service-binding")).toBe("is not in the package");
		expect(brokenReason("README.md", "docs/accounts.md#none")).toBe("has no such heading");
	});

	it.each(DOCUMENTS)("%s", (document) => {
		const relativeLinks = linksIn(document).filter((link) => !/^https?:/.test(link));
		const broken = relativeLinks.flatMap((link) => {
			const reason = brokenReason(document, link);
			return reason ? [`${link} ${reason}`] : [];
		});
		expect(broken).toEqual([]);
	});
});

describe("names in documents of the package", () => {
	/** A document of an example may name its own files and scripts. */
	const rootsOf = (document: string): string[] =>
		document.startsWith("examples/") ? [".", dirname(document)] : ["."];
	const scriptsOf = (document: string): string[] =>
		rootsOf(document).flatMap((root) => {
			const manifest = readFileSync(join(root, "package.json"), "utf8");
			const { scripts = {} } = JSON.parse(manifest) as { scripts?: Record<string, string> };
			return Object.keys(scripts);
		});
	const pathsIn = (text: string): string[] =>
		[
			...text.matchAll(
				/(?<![\w./-])(?:src|test|scripts|bench|soak|agents|mutants|miniflare)\/[\w.-]+(?:\/[\w.-]+)*/g,
			),
		].map(([path]) => path.replace(/\.$/, ""));
	const commandsIn = (text: string): string[] =>
		[...text.matchAll(/\bnpm run ([\w:]+)/g)].map(([, name = ""]) => name);

	it("are found", () => {
		const texts = DOCUMENTS.map((document) => readFileSync(document, "utf8"));
		expect(texts.flatMap(pathsIn).length).toBeGreaterThan(50);
		expect(texts.flatMap(commandsIn).length).toBeGreaterThan(20);
		expect(pathsIn("see `src/index.ts`, ./src/a and src/none.ts.")).toEqual(["src/index.ts", "src/none.ts"]);
	});

	// The changelog may name files of older versions.
	it.each(DOCUMENTS.filter((document) => document !== "CHANGELOG.md"))("%s: files", (document) => {
		const exists = (path: string): boolean => rootsOf(document).some((root) => existsSync(join(root, path)));
		expect(pathsIn(readFileSync(document, "utf8")).filter((path) => !exists(path))).toEqual([]);
	});

	it.each(DOCUMENTS)("%s: scripts of npm", (document) => {
		const scripts = scriptsOf(document);
		const commands = commandsIn(readFileSync(document, "utf8"));
		expect(commands.filter((name) => !scripts.includes(name))).toEqual([]);
	});
});

describe("packages in documents of the package", () => {
	const MANIFESTS = globSync([
		"package.json",
		"examples/*/package.json",
		"tools/clients/pinned/package.json",
	]);
	const KNOWN = new Map(
		MANIFESTS.flatMap((path) => {
			const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, Record<string, string>>;
			return Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
		}),
	);
	/** After `npm install` and `npx`, without a file's name. */
	const packagesIn = (text: string): string[] => {
		const installed = [...text.matchAll(/\bnpm (?:install|i|add)((?: +[^\s`#|)&]+)+)/g)];
		const run = [...text.matchAll(/\bnpx (?:--package +(\S+) )?([^\s`,)]+)/g)];
		const named = [
			...installed.flatMap(([, names = ""]) => names.trim().split(/ +/)),
			...run.map(([, file, command = ""]) => file ?? command),
		];
		return named.filter((name) => /^@?[a-z]/.test(name) && !/^(?:and|for|in|installs|or|works)$/.test(name));
	};
	/** `ganglion` is in no registry: `npx` runs the built command of this repository or of an installed file. */
	const exists = (name: string, text: string): boolean => {
		const [, alias = name, target] = /^(@?[^@]+)@npm:(.+)$/.exec(name) ?? [];
		if (name === "ganglion") return !/npm (?:install|i|add)[^\n]* ganglion(?:\s|$)/.test(text);
		const spec = KNOWN.get(alias.replace(/@latest$/, ""));
		return spec !== undefined && (target === undefined || spec.startsWith(`npm:${target}@`));
	};

	it("are found", () => {
		const text =
			"npm install --save-dev wrangler a@npm:@b/c\nnpm install ganglion\n`npx ganglion dev`, npm install && npm run x";
		expect(packagesIn(text)).toEqual(["wrangler", "a@npm:@b/c", "ganglion", "ganglion"]);
		expect(packagesIn(text).filter((name) => !exists(name, text))).toEqual([
			"a@npm:@b/c",
			"ganglion",
			"ganglion",
		]);
		expect(DOCUMENTS.flatMap((path) => packagesIn(readFileSync(path, "utf8"))).length).toBeGreaterThan(20);
	});

	it.each([
		...DOCUMENTS,
		...globSync(["deploy/**/*", "templates/*/README.md"]).filter((path) => statSync(path).isFile()),
	])("%s", (document) => {
		const text = readFileSync(document, "utf8");
		expect(packagesIn(text).filter((name) => !exists(name, text))).toEqual([]);
	});
});

describe("the examples of docs/local-binding.md for other tools", () => {
	const page = readFileSync("docs/local-binding.md", "utf8");
	const linesOf = (path: string): string[] =>
		readFileSync(join("examples/local-binding", path), "utf8")
			.split("\n")
			.filter((line) => line.trim() !== "");

	it("are the files of the example that the tests run", () => {
		const block = (head: string): string =>
			[...page.matchAll(/^```ts\n(.*?)^```/gms)]
				.map(([, code = ""]) => code)
				.find((code) => code.startsWith(head)) ?? "";
		const plain = (text: string): string =>
			text.replace(/ \/\/ .*$/gm, "").replace(/\s+|,(?=\s*[\])}])/g, "");
		expect(plain(block("// vitest.config.ts").replace(/^.*\n/, ""))).toBe(
			plain(linesOf("vitest.config.ts").join("\n")),
		);
		for (const line of ['import { getPlatformProxy } from "wrangler";', "await dispose();"]) {
			expect(block("// A script for Node")).toContain(line);
			expect(linesOf("scripts/ask.ts")).toContain(line);
		}
		expect(page).toContain("`cloudflare()` of `@cloudflare/vite-plugin`");
		expect(linesOf("vite.config.ts")).toContain("export default defineConfig({ plugins: [cloudflare()] });");
	});
});

describe("variables in the commands of a document", () => {
	/** Names that a command uses before an earlier line sets them, and that no sentence of the document names. */
	function unsetIn(text: string): string[] {
		const set = new Set([...text.matchAll(/`([A-Z][A-Z_]*)`/g)].map(([, name]) => name));
		const lines = [...text.matchAll(/^ *```sh\n(.*?)^ *```/gms)].flatMap(([, block = ""]) =>
			block.split("\n"),
		);
		return lines.flatMap((line) => {
			for (const [, name] of line.matchAll(/\b([A-Z][A-Z_]*)=/g)) set.add(name);
			return [...line.matchAll(/\$\{?([A-Z][A-Z_]*)/g)].flatMap(([, name = ""]) =>
				set.has(name) ? [] : name,
			);
		});
	}

	it.each(DOCUMENTS)("are set, or named in its text: %s", (document) => {
		expect(unsetIn(readFileSync(document, "utf8"))).toEqual([]);
	});

	it("are recognized", () => {
		expect(unsetIn("```sh\ncurl $A/$B\nB=1 curl $C\n```\nSet `A`.")).toEqual(["B", "C"]);
	});
});

describe("tables in documents of the package", () => {
	const MAX_CELL = 400;

	it.each(DOCUMENTS)("%s: cells that can be read", (document) => {
		const cells = readFileSync(document, "utf8")
			.split("\n")
			.filter((line) => line.startsWith("|"))
			.flatMap((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
		expect(cells.filter((cell) => cell.length > MAX_CELL)).toEqual([]);
	});
});

describe("paragraphs in documents of the package", () => {
	const START = /^\s*(?:[-*] |\d+\. |[|#<>]|\[!\[|$)/;
	/** Lines that continue a paragraph or an item of a list. */
	const continuedLines = (text: string): string[] => {
		const lines = text.replace(/^\s*```.*?^\s*```$/gms, "").split("\n");
		return lines.filter(
			(line, index) => !START.test(line) && !/^\s*(?:[|#<>]|\[!\[|$)/.test(lines[index - 1] ?? ""),
		);
	};

	it("are recognized", () => {
		expect(continuedLines("One.\nTwo.\n\n- Three\n  four\n- Five\n\n```sh\na\nb\n```\n")).toEqual([
			"Two.",
			"  four",
		]);
	});

	it.each(DOCUMENTS)("%s: one line each", (document) => {
		expect(continuedLines(readFileSync(document, "utf8"))).toEqual([]);
	});
});
