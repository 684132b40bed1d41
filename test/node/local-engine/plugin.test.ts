/** `engine: "local"` in the options of a binding, with the scripted llama-server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { announceModels, withLocalModels } from "../../../miniflare/local-models.ts";
import { readOptions } from "../../../miniflare/options.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-plugin-models-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ENV = {
	...process.env,
	GANGLION_MODELS: folder,
	LLAMA_SERVER: resolve("test/node/local-engine/llama-server.mjs"),
};
const BGE = "@cf/baai/bge-small-en-v1.5";

describe("the options of a binding", () => {
	it("get the models of this machine: one engine for all bindings, printed once", async () => {
		const first = await withLocalModels({ account: "a", engine: "local" }, ENV);
		const second = await withLocalModels({ account: "b", engine: "local" }, ENV);
		expect(first?.options.BACKENDS).toMatchObject({
			local: { kind: "local", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
		});
		expect(second?.options.BACKENDS).toEqual(first?.options.BACKENDS);
		const source = readOptions(first?.options ?? {}, { ...first?.secrets });
		expect(source).toMatchObject({ kind: "embedded", account: "a" });
		const { config } = source as Extract<typeof source, { kind: "embedded" }>;
		expect(config.routing.find(BGE)?.targets[0]).toMatchObject({
			...{ backend: "local", kind: "local", model: BGE },
			weights: "CompendiumLabs/bge-small-en-v1.5-gguf; quantised",
		});
		const lines: string[] = [];
		announceModels((line) => lines.push(line));
		expect(lines[0]).toBe(`ganglion: Weights in ${folder}`);
		announceModels((line) => lines.push(line));
		expect(lines).toHaveLength(3);
	});

	it("stay as they are without engine, and name a missing llama-server", async () => {
		expect(await withLocalModels({ account: "a" }, ENV)).toBeUndefined();
		const missing = withLocalModels({ engine: "local", pull: true }, { PATH: "" });
		await expect(missing).rejects.toThrow(/dev\.options\.engine: No llama-server was found on PATH/);
	});
});
