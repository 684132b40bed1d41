import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { diffOf, nodeNote, withDependency, withPlugin, workerName } from "../../../cli/init.ts";
import { sharedProcess } from "./shared-process.ts";

const ganglion = sharedProcess();

const CONFIG = `{
  "name": "shop", // the web shop
  /* Workers AI */
  "ai": { "binding": "MODELS" },
  "vars": { "A": 1 }
}
`;

describe("the Node of a new Worker", () => {
	it.each(["20.20.2", "22.11.0"])("is too old for wrangler: %s", (version) =>
		expect(nodeNote(version)).toBe(
			`\nwrangler needs Node 22.12 or newer, and this is ${version}: install a newer one first.`,
		),
	);

	it.each(["22.12.0", "24.2.0", "25.0.0"])("is new enough: %s", (version) =>
		expect(nodeNote(version)).toBe(""),
	);
});

describe("the plugin block", () => {
	it("takes the place of the ai block, and keeps comments and indentation", () => {
		expect(withPlugin(CONFIG)).toBe(`{
  "name": "shop", // the web shop
  /* Workers AI */
  "unsafe": {
    "bindings": [
      {
        "name": "MODELS",
        "type": "ai",
        "dev": {
          "plugin": {
            "package": "ganglion",
            "name": "ganglion"
          }
        }
      }
    ]
  },
  "vars": { "A": 1 }
}
`);
	});

	it("follows the last member and its comment", () => {
		const text = '{\n\t"name": "x" // last, with a comma\n\t// end\n}\n';
		const added = withPlugin(text, "LLM");
		expect(
			added.startsWith(
				'{\n\t"name": "x", // last, with a comma\n\t// end\n\t"unsafe": {\n\t\t"bindings": [\n',
			),
		).toBe(true);
		expect(added.endsWith("\t}\n}\n")).toBe(true);
		expect(withPlugin('{ "name": "x", }')).toMatch(/^\{ "name": "x",\n\t"unsafe": \{\n/);
		expect(JSON.parse(withPlugin("{}")).unsafe.bindings[0].name).toBe("AI");
	});

	it("keeps other fields of unsafe, and removes the ai block with its comma only", () => {
		const text = '{\n\t"ai": { "binding": "AI" }, // hosted\n\t"unsafe": { "metadata": {} }\n}\n';
		const added = withPlugin(text);
		expect(added.startsWith('{ // hosted\n\t"unsafe": { "metadata": {},\n')).toBe(true);
		expect(added).not.toContain('"ai":');
	});

	it("is added to bindings that exist, and to an ai binding without a plugin", () => {
		const text = '{\n\t"unsafe": {\n\t\t"bindings": [\n\t\t\t{ "name": "X", "type": "y" }\n\t\t]\n\t}\n}\n';
		const added = withPlugin(text);
		expect(added).toContain('{ "name": "X", "type": "y" },\n');
		expect(JSON.parse(added).unsafe.bindings).toHaveLength(2);
		const present = '{"unsafe":{"bindings":[{"name":"AI","type":"ai","dev":{"options":{"A":1}}}]}}';
		expect(JSON.parse(withPlugin(present)).unsafe.bindings).toEqual([
			{
				name: "AI",
				type: "ai",
				dev: { options: { A: 1 }, plugin: { package: "ganglion", name: "ganglion" } },
			},
		]);
	});

	it("is added once", () => {
		const once = withPlugin(CONFIG);
		expect(withPlugin(once)).toBe(once);
		expect(diffOf("wrangler.jsonc", once, once)).toBe("");
	});

	it("is added beside blocks of other bindings, and not of the binding that is asked for", () => {
		const added = withPlugin(withPlugin(CONFIG), "SECOND");
		expect(parse(added).unsafe.bindings.map(({ name }: { name: string }) => name)).toEqual([
			"MODELS",
			"SECOND",
		]);
		expect(withPlugin(added, "MODELS")).toBe(added);
		const plugin = { package: "ganglion", name: "ganglion" };
		const index = { name: "VECTORIZE", type: "vectorize", dev: { plugin, options: { index_name: "docs" } } };
		const config = JSON.stringify({ unsafe: { bindings: [index] } });
		expect(JSON.parse(withPlugin(config)).unsafe.bindings).toEqual([
			index,
			{ name: "AI", type: "ai", dev: { plugin } },
		]);
	});

	it("does not take the place of another plugin", () => {
		const dev = { plugin: { package: "other", name: "other" } };
		const text = JSON.stringify({ unsafe: { bindings: [{ name: "AI", type: "ai", dev }] } });
		expect(() => withPlugin(text)).toThrow(
			"the binding AI has the plugin other: choose another name with --binding",
		);
	});

	it.each(["9 x", "", "my-ai"])("refuses the name %j, which no variable can have", (name) => {
		const place = "--binding: expected a name of letters, digits, _ and $ that no digit begins";
		expect(() => withPlugin(CONFIG, name)).toThrow(place);
	});

	it("refuses a name that another binding has, and a file that is not valid", () => {
		expect(() => withPlugin('{"unsafe":{"bindings":[{"name":"AI","type":"y"}]}}')).toThrow(
			"the binding AI has the type y: choose another name with --binding",
		);
		expect(() => withPlugin("{")).toThrow("wrangler.jsonc is not valid JSON");
		expect(() => withPlugin('{"ai":1}')).toThrow("wrangler.jsonc is not as expected: ai");
	});
});

it.each([
	["My Shop", "my-shop"],
	["-app_2-", "app-2"],
	["日本", ""],
	["x--y", "x-y"],
])("the folder %j is a Worker with the name %j", (folder, name) => {
	expect(workerName(folder)).toBe(name);
});

it("adds the dependency once", () => {
	const text = '{\n\t"name": "x"\n}\n';
	const added = withDependency(text, "^1.0.0");
	expect(added).toBe('{\n\t"name": "x",\n\t"devDependencies": {\n\t\t"ganglion": "^1.0.0"\n\t}\n}\n');
	expect(withDependency(added, "^2.0.0")).toBe(added);
	expect(withDependency('{"dependencies":{"ganglion":"1"}}', "^2.0.0")).toBe(
		'{"dependencies":{"ganglion":"1"}}',
	);
});

describe("ganglion init", () => {
	let folder = "";
	const read = (name: string): string => readFileSync(join(folder, name), "utf8");
	beforeEach(() => {
		folder = mkdtempSync(join(tmpdir(), "ganglion-init-"));
		writeFileSync(join(folder, "wrangler.jsonc"), CONFIG);
		writeFileSync(join(folder, "package.json"), "{}");
	});
	afterEach(() => rmSync(folder, { recursive: true }));

	it("shows the changes, and writes them only with --yes", async () => {
		const shown = await ganglion(["init"], { cwd: folder });
		expect(shown.code).toBe(1);
		expect(shown.stdout).toContain('-  "ai": { "binding": "MODELS" },\n');
		expect(shown.stdout).toContain('+        "name": "MODELS",\n');
		expect(shown.stdout).toContain("+++ package.json");
		expect([read("wrangler.jsonc"), read("package.json")]).toEqual([CONFIG, "{}"]);
		expect((await ganglion(["init", "--dry-run"], { cwd: folder })).code).toBe(0);
		expect(read("package.json")).toBe("{}");

		const args = ["init", "--yes", "--package", "file:../g.tgz"];
		expect((await ganglion(args, { cwd: folder })).code).toBe(0);
		expect(read("wrangler.jsonc")).toBe(withPlugin(CONFIG));
		expect(JSON.parse(read("package.json"))).toEqual({ devDependencies: { ganglion: "file:../g.tgz" } });
		expect((await ganglion(args, { cwd: folder })).stdout).toMatch(/^Nothing to do/);
	});

	it("writes a package.json if there is none, because the binding needs the package", async () => {
		rmSync(join(folder, "package.json"));
		const args = ["init", "--yes", "--package", "file:../g.tgz"];
		expect((await ganglion(args, { cwd: folder })).stdout).toContain("+++ package.json");
		expect(JSON.parse(read("package.json"))).toEqual({ devDependencies: { ganglion: "file:../g.tgz" } });
	});

	it("says in words which file cannot be read", async () => {
		rmSync(join(folder, "package.json"));
		mkdirSync(join(folder, "package.json"));
		const { code, stderr } = await ganglion(["init", "--yes"], { cwd: folder });
		expect([code, stderr]).toEqual([
			1,
			expect.stringMatching(
				/^error: .*package\.json cannot be read: a folder has this name, where a file is needed \(EISDIR\)\n$/,
			),
		]);
	});

	it("explains a folder without a configuration that it can edit", async () => {
		rmSync(join(folder, "wrangler.jsonc"));
		expect((await ganglion(["init"], { cwd: folder })).stderr).toMatch(/^error: .* has no wrangler\.jsonc/);
		writeFileSync(join(folder, "wrangler.toml"), "");
		expect((await ganglion(["init"], { cwd: folder })).stderr).toMatch(
			/^error: wrangler\.toml cannot be edited/,
		);
	});
});

describe("ganglion create", () => {
	it("prints a command for the shell, also for a folder with a space and a quote", async () => {
		const parent = mkdtempSync(join(tmpdir(), "ganglion-create-"));
		try {
			for (const [name, word] of [
				["shop", `${parent}/shop`],
				["Ann's shop", `'${parent}/Ann'\\''s shop'`],
			]) {
				const { code, stdout } = await ganglion(["create", name ?? ""], { cwd: parent });
				expect([code, stdout.split("\n")[1]]).toEqual([0, `  cd ${word}`]);
			}
		} finally {
			rmSync(parent, { recursive: true });
		}
	});

	it.each([
		["package.json", "a file has this name, where a folder is needed (EEXIST)"],
		["package.json/shop", "a part of the path is a file, where a folder is needed (ENOTDIR)"],
	])("says in words why %s cannot be the folder", async (name, reason) => {
		const { code, stderr } = await ganglion(["create", name], { cwd: process.cwd() });
		expect([code, stderr]).toEqual([1, `error: ${join(process.cwd(), name)} cannot be written: ${reason}\n`]);
	});
});
