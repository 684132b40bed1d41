/** Documents are converted in processes of their own, which are killed at their bounds. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { modulesIn } from "../../miniflare/modules.ts";
import { type DocumentConverter, processesOn, startConverter } from "../../scripts/documents/converter.ts";
import type { ConversionBounds } from "../../scripts/documents/converter-process.ts";
import { mutated } from "../../tools/documents/mutate.ts";
import { bytesOf, convertBy, fixture, wordDocument } from "./document-files.ts";

/** `npm run fuzz:documents` converts more. */
const DAMAGED_COPIES = 10;
const folder = mkdtempSync(join(tmpdir(), "ganglion-documents-test-"));
// Other tests convert documents at the same time: the processes of this file are those with its folder.
vi.stubEnv("TMPDIR", folder);
afterAll(() => {
	vi.unstubAllEnvs();
	rmSync(folder, { recursive: true, force: true });
});

it.each([
	[1, 1],
	[2, 1],
	[3, 2],
	[64, 2],
])("on %d cores, %d processes convert at the same time", (cores, processes) => {
	expect(processesOn(cores)).toBe(processes);
});

describe("a process", () => {
	/** A converter that does what the name of its file says. */
	const WORKER = `
export default {
	async fetch(request) {
		const message = await request.text();
		if (message.includes("loop.csv")) for (;;);
		const kept = [];
		if (message.includes("memory.csv")) for (;;) kept.push(new Uint8Array(1024 * 1024).fill(1));
		if (message.includes("heap.csv")) for (;;) kept.push(new Array(1_000_000).fill(message));
		if (message.includes("network.csv")) {
			const reached = await fetch("http://127.0.0.1:" + message.match(/port=(\\d+)/)[1]).then(() => true, () => false);
			return Response.json({ format: "markdown", data: String(reached), images: [], work: 1 });
		}
		return Response.json({ format: "markdown", data: "converted", images: [], work: 1 });
	}
};`;
	let converter: DocumentConverter;
	let convert: ReturnType<typeof convertBy>;
	const file = join(folder, "index.js");
	const startFixed = (bounds?: ConversionBounds) =>
		startConverter(async () => [{ name: "index.js", file }], bounds);
	beforeAll(async () => {
		writeFileSync(file, WORKER);
		converter = await startFixed();
		convert = convertBy(converter);
	});
	afterAll(() => converter.stop());

	const processes = (): string[] =>
		execFileSync("ps", ["-eo", "nice,args"], { encoding: "utf8" })
			.split("\n")
			.filter(
				(line) =>
					line.includes("workerd") && line.includes(join(folder, "ganglion-")) && !line.includes("sh -c"),
			);
	const running = (): number => processes().length;

	it("adds one listener to this process, however many processes there are, and none after them", async () => {
		const before = process.listenerCount("exit");
		await Promise.all(["a.csv", "b.csv"].map((name) => convert(name, bytesOf("a"))));
		expect(process.listenerCount("exit")).toBe(before + 1);
		await converter.stop();
		expect(process.listenerCount("exit")).toBe(before);
		converter = await startFixed();
		convert = convertBy(converter);
	});

	// Only the loop has a shorter limit: on a machine that is busy, a heap takes longer to fill.
	it.runIf(process.platform === "linux").each([
		["loop.csv", "The file takes too much time to convert", { maxCpuMs: 1_000 }],
		["memory.csv", "The file takes too much memory to convert", {}],
		["heap.csv", "The file takes too much memory to convert", {}],
	])("is killed by %s, and files beside it and after it are converted", async (name, error, bounds) => {
		const other = await startFixed(bounds);
		onTestFinished(() => other.stop());
		const convert = convertBy(other);
		const [stopped, beside] = await Promise.all([
			convert(name, bytesOf("x")),
			convert("a.csv", bytesOf("x")),
		]);
		expect(stopped).toMatchObject({ format: "error", error });
		expect(beside).toMatchObject({ data: "converted" });
		expect(await convert("a.csv", bytesOf("x"))).toMatchObject({ data: "converted" });
	});

	it.runIf(process.platform === "linux")("converts the files of accounts in turns", async () => {
		const other = await startFixed({ maxCpuMs: 200 });
		onTestFinished(() => other.stop());
		const ended: string[] = [];
		const files = [...Array.from({ length: 4 }, () => ["loop.csv", "slow"]), ["a.csv", "other"]];
		await Promise.all(
			files.map(async ([name = "", account = ""]) => {
				await convertBy(other)(name, bytesOf("x"), account);
				ended.push(account);
			}),
		);
		expect(ended.toSorted()).toEqual(["other", "slow", "slow", "slow", "slow"]);
		expect(ended.at(-1)).toBe("slow");
	});

	it("has a lower priority than the gateway", async () => {
		const before = new Set(processes());
		const other = await startConverter(async () => [{ name: "index.js", file }]);
		await convertBy(other)("a.csv", bytesOf("x"));
		const started = processes().filter((line) => !before.has(line));
		expect(started).toEqual([expect.stringMatching(/^ +5 /)]);
		await other.stop();
	});

	it("has no network", async () => {
		const port = new URL(converter.address).port;
		expect(await convert("network.csv", bytesOf(`port=${port} `))).toMatchObject({ data: "false" });
	});

	it("is reached only by the secret of its address", async () => {
		const response = await fetch(new URL("/", converter.address), { method: "POST", body: "x" });
		expect(response.status).toBe(404);
	});

	it("ends when it has had no file for a time, and the next file has another", async () => {
		const before = running();
		const other = await startConverter(async () => [{ name: "index.js", file }], { idleMs: 100 });
		for (let files = 0; files < 2; files++) {
			expect(await convertBy(other)("a.csv", bytesOf("x"))).toMatchObject({ data: "converted" });
			await expect.poll(running).toBe(before);
		}
		await other.stop();
	});

	it("ends with its converter", async () => {
		const before = running();
		const other = await startConverter(async () => [{ name: "index.js", file: join(folder, "index.js") }]);
		expect(await convertBy(other)("a.csv", bytesOf("x"))).toMatchObject({ data: "converted" });
		expect(running()).toBeGreaterThan(before);
		await other.stop();
		await expect.poll(running).toBe(before);
	});
});

describe("the built converter", () => {
	let converter: DocumentConverter;
	beforeAll(async () => {
		converter = await startConverter(async () => modulesIn("dist/documents"));
	});
	afterAll(() => converter.stop());

	it.each([
		["report.docx", "# Quarterly report\n"],
		["report.odt", "# Quarterly report\n"],
		["tagged.pdf", "# tagged.pdf\n"],
		["prices.xlsx", "# prices.xlsx\n"],
		["prices.numbers", "# prices.numbers\n"],
	])("converts %s", async (name, beginning) => {
		const converted = await convertBy(converter)(name, fixture(name));
		expect(converted).toMatchObject({ format: "markdown" });
		expect(converted).toHaveProperty("data", expect.stringMatching(new RegExp(`^${beginning}`)));
	});

	it("converts long Word documents", async () => {
		const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
		const convert = convertBy(converter);
		// About 400 pages.
		const text = paragraph("A sentence of a long document. ".repeat(10)).repeat(4_000);
		expect(await convert("a.docx", wordDocument(text))).toMatchObject({ format: "markdown" });
		const row = `<w:tr>${`<w:tc>${paragraph("A cell")}</w:tc>`.repeat(5)}</w:tr>`;
		const converted = await convert("a.docx", wordDocument(`<w:tbl>${row.repeat(1_000)}</w:tbl>`));
		if (converted.format === "error") throw new Error(converted.error);
		// With the line below the header.
		expect(converted.data.trim().split("\n")).toHaveLength(1_001);
	});

	it("answers each damaged file with a text or a sentence", async () => {
		const names = ["minutes.docx", "prices.numbers", "prices.ods", "prices.xls", "report.odt", "tagged.pdf"];
		const convert = convertBy(converter);
		for (const [index, name] of names.entries()) {
			const bytes = fixture(name);
			for (let seed = 0; seed < DAMAGED_COPIES; seed++) {
				const converted = await convert(name, mutated(bytes, index * DAMAGED_COPIES + seed));
				if (converted.format !== "error") continue;
				expect(converted.error).toMatch(/^The (?:file|PDF|document) (?:is|has|takes) /);
				expect(converted.unexpected).toBeUndefined();
			}
		}
		expect(await convert("a.csv", bytesOf("x"))).toMatchObject({ format: "markdown" });
	});

	it("converts HTML and CSV, whose text may be empty", async () => {
		const convert = convertBy(converter);
		expect(await convert("a.html", bytesOf("<h1>x"))).toMatchObject({ data: "# x\n" });
		expect(await convert("a.csv", bytesOf(""))).toMatchObject({ data: "" });
	});
});
