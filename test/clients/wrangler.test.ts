/** `wrangler ai`, its API's address changed by the variable it has for that. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { loraConfig, loraWeights } from "../jobs/adapters/adapter-files.ts";
import { wranglerEnv, wranglerIn } from "./wrangler.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const home = mkdtempSync(join(tmpdir(), "ganglion-wrangler-"));
afterAll(() => rmSync(home, { recursive: true }));

const wrangler = wranglerIn(home, "ai");

describe("wrangler ai", () => {
	const list = async (...filters: string[]): Promise<string[]> => {
		const { stdout } = await wrangler("models", "list", "--json", ...filters);
		return JSON.parse(stdout).map(({ name }: { name: string }) => name);
	};

	it("lists the catalogue, page by page", async () => {
		const names = await list();
		expect(names).toContain(LLAMA);
		expect(names.length).toBeGreaterThan(50);
		expect(new Set(names).size).toBe(names.length);
	});

	it("searches it", async () => {
		expect(await list("--task", "Text Embeddings", "--search", "m3")).toEqual(["@cf/baai/bge-m3"]);
	});

	it("shows a model's schema", async () => {
		const { stdout } = await wrangler("models", "schema", "@cf/openai/whisper");
		expect(JSON.parse(stdout)).toMatchObject({
			input: { oneOf: [{ format: "binary" }, { properties: { audio: { type: "array" } } }] },
			output: { properties: { text: { type: "string" } } },
		});
	});

	it("shows our message and code of a failure", async () => {
		// As a process of its own, whose exit code scripts read.
		const cli = resolve("node_modules/wrangler/bin/wrangler.js");
		const args = [cli, "ai", "models", "schema", "@cf/meta/nothing"];
		const options = { cwd: home, env: wranglerEnv(home) };
		await expect(promisify(execFile)(process.execPath, args, options)).rejects.toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/No such model @cf\/meta\/nothing or task .*\[code: 5007\]/),
		});
	});

	it("creates a fine-tune from a folder, and lists it", async () => {
		const folder = join(home, "adapter");
		mkdirSync(folder);
		writeFileSync(join(folder, "adapter_config.json"), loraConfig({ r: 4 }));
		writeFileSync(join(folder, "adapter_model.safetensors"), loraWeights());
		const base = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
		const create = () => wrangler("finetune", "create", base, "support", folder);
		// The command ends with 0, and leaves a record without weights. It works again.
		expect((await create()).stderr).toContain(
			"expected a rank of at most 4, as adapter_config.json declares, found 8",
		);
		writeFileSync(join(folder, "adapter_config.json"), loraConfig());
		await create();
		const { stdout } = await wrangler("finetune", "list", "--json");
		expect(JSON.parse(stdout)).toMatchObject([
			{ name: "support", model: base, files: [{ name: "adapter_config.json" }, {}], rank: 8 },
		]);
		expect((await wrangler("finetune", "list")).stdout).toMatch(/support/);
		expect((await create()).stderr).toContain('The account has a fine-tune named "support"');
	});
});
