/** The links of the documents that are in the package: what they name is in the package, and so are the headings. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, matchesGlob, relative } from "node:path";
import { describe, expect, it } from "vitest";

const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: string[] };
/** npm adds these to every package. */
const ALWAYS = ["README.md", "LICENSE", "package.json"];
const DOCUMENTS = globSync([
	"README.md",
	"CHANGELOG.md",
	"CONTRIBUTING.md",
	"docs/*.md",
	"examples/*/README.md",
]);

const isPacked = (path: string): boolean =>
	ALWAYS.includes(path) ||
	files.some((pattern) => matchesGlob(path, pattern) || path.startsWith(`${pattern}/`));

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
