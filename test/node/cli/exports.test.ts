/** The commands that write what an account has stored to files, and read them again, against `ganglion dev`. */
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { runScript, type Script, stopScripts } from "../script.ts";
import { CLI, type Result } from "./run.ts";
import { sharedProcess } from "./shared-process.ts";

let folder = "";
let url = "";
let server: Script;
beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-exports-"));
	const port = await freePort();
	url = `http://127.0.0.1:${port}`;
	const flags = ["--port", String(port), "--state", join(folder, "state"), "--no-local-engines"];
	server = runScript(CLI, ["dev", ...flags]);
	expect(await server.until(/Ganglion is ready|error/)).toContain("ready");
});
afterAll(async () => {
	stopScripts();
	await server.exit;
	rmSync(folder, { recursive: true, force: true });
});

const shared = sharedProcess();
const run = (args: readonly string[]): Promise<Result> =>
	shared(args, { cwd: folder, env: { GANGLION_URL: url } });

async function call(path: string, init?: RequestInit): Promise<unknown> {
	const response = await fetch(`${url}/client/v4/accounts/local${path}`, init);
	const { result } = (await response.json()) as { result: unknown };
	return result;
}
const post = (path: string, body: unknown): Promise<unknown> =>
	call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

describe("ganglion vectors export and import", () => {
	const VECTORS = 2_345;
	const DIMENSIONS = 8;
	/** Values that float32 has exactly. */
	const vectors = Array.from({ length: VECTORS }, (_, number) => ({
		id: `v${String(number).padStart(5, "0")}`,
		values: Array.from({ length: DIMENSIONS }, (_, at) => ((number * 7 + at * 3) % 64) / 16 - 2),
		...(number % 3 === 0 && { namespace: "shop" }),
		...(number % 2 === 0 && { metadata: { folder: `f${number % 5}`, note: 'a "quoted" line\nand more' } }),
	}));
	const linesIn = (file: string): unknown[] =>
		readFileSync(join(folder, file), "utf8")
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
	const byId = (lines: unknown[]): unknown[] =>
		(lines as { id: string }[]).sort((one, other) => (one.id < other.id ? -1 : 1));

	it("makes an index of a file, and the same file of the index", async () => {
		writeFileSync(
			join(folder, "in.ndjson"),
			vectors.map((vector) => `${JSON.stringify(vector)}\r\n\r\n`).join(""),
		);
		const options = ["--metric", "euclidean", "--metadata-index", "folder=string"];
		const imported = await run(["vectors", "import", "docs", "in.ndjson", ...options]);
		expect(imported).toMatchObject({ code: 0, stdout: `docs: ${VECTORS} vectors written\n` });
		expect(imported.stderr).toContain(`[${"#".repeat(30)}] ${VECTORS} vectors\n`);
		expect(await call("/vectorize/v2/indexes/docs")).toMatchObject({
			config: { dimensions: DIMENSIONS, metric: "euclidean" },
		});

		const exported = await run(["vectors", "export", "docs"]);
		expect(exported).toMatchObject({ code: 0, stdout: `docs.ndjson: ${VECTORS} vectors\n` });
		expect(exported.stderr).toContain(`] 1000 of ${VECTORS} vectors\n`);
		expect(exported.stderr).toContain(
			"npx ganglion vectors import docs docs.ndjson --metric euclidean --metadata-index 'folder=string'\n",
		);
		expect(byId(linesIn("docs.ndjson"))).toEqual(vectors);
		expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
		// The filter needs a metadata index that is older than the vectors.
		const found = await post("/vectorize/v2/indexes/docs/query", {
			...{ vector: vectors[2]?.values, topK: 1, filter: { folder: "f2" } },
		});
		expect(found).toMatchObject({ count: 1 });
	});

	it("keeps a file that exists, unless it may be overwritten", async () => {
		writeFileSync(join(folder, "kept.ndjson"), "kept");
		const args = ["vectors", "export", "docs", "--output", "kept.ndjson"];
		expect(await run(args)).toMatchObject({
			...{
				code: 1,
				stderr: "error: kept.ndjson exists: name another file with --output, or add --overwrite\n",
			},
		});
		expect(readFileSync(join(folder, "kept.ndjson"), "utf8")).toBe("kept");
		expect(await run([...args, "--overwrite", "--json"])).toMatchObject({ code: 0 });
		expect(linesIn("kept.ndjson")).toHaveLength(VECTORS);
	});

	it("leaves no file of an index that does not exist, and names the lines that are refused", async () => {
		const unknown = await run(["vectors", "export", "none"]);
		expect(unknown.stderr).toMatch(/^error: vectorize\.index\.not_found .*\(HTTP 404\)\n$/);
		expect(existsSync(join(folder, "none.ndjson"))).toBe(false);
		const lines = vectors.map((vector, at) =>
			JSON.stringify(at === 1_500 ? { ...vector, values: [1] } : vector),
		);
		writeFileSync(join(folder, "wrong.ndjson"), lines.join("\n"));
		const { code, stderr } = await run(["vectors", "import", "partly", "wrong.ndjson"]);
		expect(code).toBe(1);
		expect(stderr).toContain('invalid vector for id="v01500", expected 8 dimensions, and got 1 dimensions');
		expect(stderr).toContain(
			"in the lines 1001 to 2000 of wrong.ndjson. The 1000 vectors before them are in partly.\n",
		);
		writeFileSync(join(folder, "text.ndjson"), "hello");
		expect((await run(["vectors", "import", "text", "text.ndjson"])).stderr).toMatch(
			/^error: the first line is no vector/,
		);
		expect((await run(["vectors", "import", "text", "missing.ndjson"])).stderr).toMatch(
			/^error: missing\.ndjson cannot be read: there is no such file\n$/,
		);
	});
});

describe("ganglion search export", () => {
	const INSTANCE = "/ai-search/instances/manual";
	const exported = ["search", "export", "out", "--instance", "manual"];
	async function upload(key: string, content: string): Promise<void> {
		const form = new FormData();
		form.set("file", new File([content], key));
		form.set("metadata", '{"synced_from":"person"}');
		await call(`${INSTANCE}/items`, { method: "POST", body: form });
	}

	it("writes the files by their keys, and again only what differs", async () => {
		await post("/ai-search/instances", { id: "manual" });
		await upload("a.md", "To reset a password, open the settings page.");
		await upload("guides/b.md", "An invoice is sent each month.");
		const first = await run(exported);
		expect(first).toMatchObject({
			...{ code: 0, stdout: "out: of manual 2 written, 0 unchanged, 0 of a source, 0 refused\n" },
		});
		expect(readFileSync(join(folder, "out/guides/b.md"), "utf8")).toBe("An invoice is sent each month.");
		const [listed] = readFileSync(join(folder, "out/.items.ndjson"), "utf8").split("\n");
		expect(JSON.parse(listed ?? "")).toMatchObject({ key: "a.md", metadata: { synced_from: "person" } });

		writeFileSync(join(folder, "out/a.md"), "changed here");
		const second = await run(exported);
		expect(second).toMatchObject({
			...{ code: 1, stdout: "out: of manual 0 written, 1 unchanged, 0 of a source, 1 refused\n" },
		});
		expect(second.stderr).toContain("has another content: add --overwrite");
		expect(readFileSync(join(folder, "out/a.md"), "utf8")).toBe("changed here");
		const third = await run([...exported, "--overwrite", "--json"]);
		expect(JSON.parse(third.stdout)).toEqual({ written: ["a.md"], unchanged: 1, ofSource: 0, refused: {} });
	});

	it("writes nothing outside of the folder", async () => {
		for (const key of ["../outside.md", "guides/../../outside.md", ".items.ndjson", "linked/c.md"])
			await upload(key, "Outside.");
		mkdirSync(join(folder, "elsewhere"));
		symlinkSync(join(folder, "elsewhere"), join(folder, "out/linked"));
		const { code, stderr } = await run(exported);
		expect(code).toBe(1);
		expect(existsSync(join(folder, "outside.md"))).toBe(false);
		expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
		expect(stderr).toMatch(/^linked\/c\.md: \S+out\/linked is a link$/m);
		const items = (await call(`${INSTANCE}/items?per_page=50`)) as { key: string }[];
		const outside = items.map(({ key }) => key).filter((key) => key.includes(".."));
		for (const key of outside) expect(stderr).toContain(`${key}: the key is no path below the folder\n`);
	});
});
