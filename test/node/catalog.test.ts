/** `npm run catalog`: our catalogue compared with small files in the form of the product's. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compare, describe as describeComparison, isEqual } from "../../scripts/catalog/compare.ts";
import { ownFacts } from "../../scripts/catalog/own-facts.ts";
import { readProductFiles } from "../../scripts/catalog/product-files.ts";

const FOLDER = "test/fixtures/catalog";

describe("the comparison with a folder", () => {
	const comparison = compare(ownFacts(), readProductFiles(FOLDER));

	it("names models that we do not have", () => {
		expect(comparison.missing).toEqual([{ id: "openai/gpt-7", task: "text generation" }]);
	});

	it("names the fields that differ, with both values, and nothing else", () => {
		expect(comparison.changed).toEqual([
			{
				id: "xai/grok-4.6",
				differences: [{ field: "price per M output tokens", here: 6, product: 7 }],
			},
			{
				id: "@cf/moonshotai/kimi-k2.6",
				differences: [{ field: "context_window", here: 262_144, product: 131_072 }],
			},
		]);
	});

	it("names our models of which the folder has no file, except those that have ended", () => {
		expect(comparison.gone).toContain("openai/gpt-6-sol");
		expect(comparison.gone).toContain("@cf/openai/gpt-oss-120b");
		expect(comparison.gone).not.toContain("openai/gpt-6-luna");
		expect(comparison.gone).not.toContain("@cf/meta/llama-2-7b-chat-int8");
		expect(comparison.gone).not.toContain("deepseek/deepseek-chat");
	});

	it("ignores the other kind of models, if the folder has none of it", () => {
		const { gone } = compare(ownFacts(), readProductFiles(`${FOLDER}/workers-ai-models`));
		expect(gone.filter((id) => !id.startsWith("@"))).toEqual([]);
	});

	it("is described in lines, with the counts at the end", () => {
		const lines = describeComparison({ ...comparison, gone: ["openai/gpt-6-sol"] }).split("\n");
		expect(lines).toContain("    price per M output tokens: 6 here, 7 in the file");
		expect(lines.at(-1)).toBe("1 missing, 2 changed, 1 gone, 0 unreadable");
	});
});

describe("a folder of odd files", () => {
	let folder: string;
	beforeEach(() => {
		folder = mkdtempSync(join(tmpdir(), "catalog-"));
	});
	afterEach(() => rmSync(folder, { recursive: true }));

	const write = (name: string, value: unknown) =>
		writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
	const grok = { model_id: "xai/grok-4.6", provider_id: "xai", task: "Text Generation" };
	const run = (...options: string[]) =>
		spawnSync(process.execPath, ["scripts/catalog.ts", ...options], { encoding: "utf8" });

	it.each([
		["text that is not JSON", "{", "it is not JSON"],
		["a list", [], "it is not an object"],
		["another object", { title: "x" }, 'it has neither "model_id" nor a "name" that begins with "@"'],
		["no task", { model_id: "openai/gpt-6-sol" }, '"task" is not a text'],
		["no properties", { name: "@cf/a/b", task: { name: "Translation" } }, '"properties" is not a list'],
		[
			"long prices without a threshold",
			{ ...grok, pricing: { "Long-context input (per 1M)": 4 } },
			"it has prices of long inputs, but no threshold",
		],
	])("reports %s, and reads the others", (_, value, reason) => {
		write("odd.json", value);
		write("grok.json", grok);
		write("notes.txt", "x");
		const { models, unreadable } = readProductFiles(folder);
		expect(unreadable).toEqual([{ file: "odd.json", reason }]);
		expect(models.map(({ id }) => id)).toEqual(["xai/grok-4.6"]);
	});

	it("compares no fact that a file does not state", () => {
		write("grok.json", { ...grok, context_length: null, request_formats: null, pricing: {} });
		expect(compare(ownFacts(), readProductFiles(folder)).changed).toEqual([]);
	});

	it("reads the files' own words for units", () => {
		const file = (name: string, task: string, unit: string, price: number) =>
			write(`${name.split("/").at(-1)}.json`, {
				name,
				task: { name: task },
				properties: [{ property_id: "price", value: [{ unit, price, currency: "USD" }] }],
			});
		file("@cf/deepgram/aura-2-en", "Text-to-Speech", "per 1k characters", 0.03);
		file("@cf/deepgram/flux", "Automatic Speech Recognition", "per audio minute (websocket)", 0.0077);
		file("@cf/leonardo/phoenix-1.0", "Text-to-Image", "per 512 by 512 tile", 0.00583);
		file("@cf/microsoft/resnet-50", "Image Classification", "per inference request", 0.000_002_51);
		file("@cf/facebook/detr-resnet-50", "Object Detection", "per inference request", 0.000_007_5);
		const { changed } = compare(ownFacts(), readProductFiles(folder));
		const prices = changed.flatMap(({ differences }) =>
			differences.filter(({ field }) => field.startsWith("price")),
		);
		expect(prices).toEqual([]);
	});

	it("reads the prices of the tokens of images", () => {
		const pricing = {
			"Input image tokens (per 1M)": 8,
			"Cached input image tokens (per 1M)": 3,
			"Output image tokens (per 1M)": 30,
		};
		write("flare.json", { ...grok, model_id: "openai/gpt-image-2.5-flare", task: "Text-to-Image", pricing });
		expect(readProductFiles(folder).models[0]?.prices).toEqual({
			"per M input image tokens": 8,
			"per M cached input image tokens": 3,
			"per M output image tokens": 30,
		});
	});

	it("reads the threshold of labelled prices from the metadata", () => {
		const metadata = { "Long-context threshold": "272,000 input tokens" };
		const pricing = { "Short-context input (per 1M)": 10, "Long-context cache write (per 1M)": 25 };
		write("astra.json", { ...grok, model_id: "openai/gpt-6-astra", pricing, metadata });
		expect(readProductFiles(folder).models[0]?.prices).toEqual({
			"per M input tokens": 10,
			"per M cache write tokens above 272000": 25,
		});
	});

	it("takes prices as equal that differ by rounding only", () => {
		write("grok.json", { ...grok, pricing: { "Input <200k (per 1M)": 2.005 } });
		const [changed] = compare(ownFacts(), readProductFiles(folder)).changed;
		expect(changed?.differences.map(({ field }) => field)).not.toContain("price per M input tokens");
	});

	it("ends with 1 after a difference, and with 0 without one", () => {
		write("grok.json", grok);
		const { status, stdout } = run("--check", folder, "--json");
		expect(status).toBe(1);
		expect(JSON.parse(stdout)).toMatchObject({ missing: [], changed: [], unreadable: [] });
		const equal = { missing: [], changed: [], gone: [], unreadable: [] };
		expect(isEqual(equal)).toBe(true);
		expect(isEqual({ ...equal, gone: ["xai/grok-4.6"] })).toBe(false);
	});

	it("stops with a message for no folder, an empty one and a missing one", () => {
		expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining("--check DIR") });
		expect(run("--check", folder)).toMatchObject({
			status: 1,
			stderr: expect.stringContaining("has no .json file"),
		});
		expect(run("--check", join(folder, "absent"))).toMatchObject({
			status: 1,
			stderr: expect.stringContaining("ENOENT"),
		});
	});
});
