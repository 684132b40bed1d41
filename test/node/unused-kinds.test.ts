/** Which kinds of backends a deployment leaves out: those that its configuration cannot need. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { unusedKinds } from "../../scripts/unused-kinds.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-unused-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function unusedIn(config: object | string, name = "wrangler.json"): string[] {
	const file = join(folder, name);
	writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config));
	return unusedKinds(file);
}
const backend = (kind: string) => ({ [kind]: { kind, url: "http://127.0.0.1:9" } });
const ALL = ["tei", "ollama", "workers-ai", "local", "cog", "pgvector", "qdrant", "vectorize"];

describe("kinds that a configuration cannot need", () => {
	it("are those that only BACKENDS can name: an account's key may need the others", () => {
		expect(unusedIn({ vars: { BACKENDS: {} } })).toEqual(ALL);
		expect(unusedIn({ vars: { BACKENDS: backend("openai") } })).toEqual(ALL);
	});

	it("are not those of a backend, also of one without a route, and of text that is JSON", () => {
		expect(unusedIn({ vars: { BACKENDS: { ...backend("ollama"), ...backend("cog") } } })).toEqual([
			"tei",
			"workers-ai",
			"local",
			...["pgvector", "qdrant", "vectorize"],
		]);
		expect(unusedIn({ vars: { BACKENDS: JSON.stringify(backend("tei")) } })).toEqual([
			"ollama",
			"workers-ai",
			"local",
			"cog",
			...["pgvector", "qdrant", "vectorize"],
		]);
		expect(unusedIn('[vars.BACKENDS.mine]\nkind = "ollama"\n', "wrangler.toml")).not.toContain("ollama");
	});

	it("are not those of a store of vectors", () => {
		const stores = { pg: { kind: "pgvector", url: "postgres://user@127.0.0.1/app" } };
		expect(unusedIn({ vars: { BACKENDS: {}, VECTORS: { stores } } })).not.toContain("pgvector");
		expect(unusedIn({ vars: { BACKENDS: {}, VECTORS: JSON.stringify({ stores }) } })).not.toContain(
			"pgvector",
		);
	});

	it("are counted over all environments", () => {
		const env = { staging: { vars: { BACKENDS: backend("tei") } } };
		expect(unusedIn({ vars: { BACKENDS: backend("cog") }, env })).toEqual([
			...["ollama", "workers-ai", "local", "pgvector", "qdrant", "vectorize"],
		]);
	});

	it.each([
		["a file without variables: BACKENDS may be a secret", {}],
		["an environment without BACKENDS", { vars: { BACKENDS: {} }, env: { staging: {} } }],
		["variables of the dashboard", { keep_vars: true, vars: { BACKENDS: {} } }],
		["text that is not JSON", { vars: { BACKENDS: "{" } }],
		["a file that cannot be read", "{"],
	])("are none in %s", (_, config) => {
		expect(unusedIn(config)).toEqual([]);
	});
});

describe("npm run build:worker -- --without", () => {
	it("lists the parts that it accepts", () => {
		const build = () =>
			execFileSync(process.execPath, ["scripts/worker.ts", "--without", "unsued"], { stdio: "pipe" });
		expect(build).toThrow('found "unsued"; did you mean "unused"?');
	});
});
