import { describe, expect, it } from "vitest";
import { settingsFor, usesLocalEngines } from "../../../scripts/engines/local.ts";
import { readName } from "../../../scripts/engines/names.ts";
import type { Engine } from "../../../scripts/engines/probe.ts";
import { configure } from "../../../src/config/index.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const engine = (name: string, ...models: string[]): Engine => ({
	name,
	kind: name === "ollama" ? "ollama" : "openai",
	url: `http://127.0.0.1:1/${name}`,
	models: models.map((model) => ({ name: model, ...readName(model) })),
});

describe("engines of this machine are used", () => {
	it.each([
		["where nobody said which", undefined, {}, {}, true],
		["where empty settings say nothing", undefined, { BACKENDS: {}, ROUTES: " {} " }, {}, true],
		["not beside a route", undefined, { ROUTES: { "*": [] } }, {}, false],
		["not beside a backend in text", undefined, { BACKENDS: '{"a":{}}' }, {}, false],
		["not beside a route, even if wanted", true, { ROUTES: { "*": [] } }, {}, false],
		["not in CI", undefined, {}, { CI: "true" }, false],
		["not in a test", undefined, {}, { VITEST: "true" }, false],
		["in CI that says it is none", undefined, {}, { CI: "false" }, true],
		["in CI, if wanted", true, {}, { CI: "1" }, true],
		["in CI, at ports that are named", [9000], {}, { CI: "1" }, true],
		["not if unwanted", false, {}, {}, false],
	])("%s", (_, wanted, settings, env, expected) => {
		expect(usesLocalEngines(wanted, settings, env)).toBe(expected);
	});
});

describe("their settings", () => {
	it("route the models that they have a near one for, and no others", () => {
		const found = settingsFor(
			[engine("ollama", "llama3.2:3b", "bge-m3:latest"), engine("vllm", "Qwen/Qwen3-8B")],
			NOW,
		);
		expect(found?.BACKENDS).toEqual({
			ollama: { kind: "ollama", url: "http://127.0.0.1:1/ollama" },
			vllm: { kind: "openai", url: "http://127.0.0.1:1/vllm" },
		});
		const { ROUTES = {} } = found ?? {};
		expect(ROUTES["@cf/meta/llama-3.3-70b-instruct-fp8-fast"]).toEqual([
			{ backend: "ollama", model: "llama3.2:3b" },
		]);
		expect(ROUTES["@cf/qwen/qwen3-30b-a3b-fp8"]).toEqual([{ backend: "vllm", model: "Qwen/Qwen3-8B" }]);
		expect(ROUTES["@cf/baai/bge-m3"]).toEqual([{ backend: "ollama", model: "bge-m3:latest" }]);
		for (const id of ["@cf/baai/bge-large-en-v1.5", "@cf/openai/whisper", "@cf/leonardo/phoenix-1.0"])
			expect(ROUTES).not.toHaveProperty([id]);
	});

	it("bring back nothing that the product has ended", () => {
		const { ROUTES = {} } = settingsFor([engine("ollama", "llama3.2:3b", "gemma3:4b")], NOW) ?? {};
		const routed = PRODUCT_MODELS.filter(({ id }) => id in ROUTES);
		expect(routed.length).toBeGreaterThan(20);
		expect(routed.filter(({ deprecated }) => deprecated && Date.parse(deprecated) <= NOW)).toEqual([]);
	});

	it("are what a gateway takes", () => {
		const found = settingsFor([engine("ollama", "llama3.2:3b")], NOW);
		const { routing } = configure({ ...found, DEFAULT_BACKEND: "simulator" });
		expect(routing.find("@cf/meta/llama-3.2-1b-instruct")?.targets).toMatchObject([
			{ backend: "ollama", kind: "ollama", model: "llama3.2:3b" },
		]);
		expect(routing.find("@cf/openai/whisper")?.targets).toMatchObject([{ backend: "simulator" }]);
	});

	it("are listed in a line for each model", () => {
		const found = settingsFor([engine("ollama", "llama3.2:3b", "bge-m3:latest", "nomic-embed-text")], NOW);
		expect(found?.lines).toEqual([
			expect.stringMatching(
				/^@cf\/\S+, @cf\/\S+ and \d+ more {2}-> {2}ollama \(http:\/\/127\.0\.0\.1:1\/ollama\) llama3\.2:3b$/,
			),
			"@cf/baai/bge-m3  ->  ollama (http://127.0.0.1:1/ollama) bge-m3:latest",
		]);
	});

	it.each([[[]], [[engine("ollama", "nomic-embed-text")]]])("are none where nothing fits", (engines) => {
		expect(settingsFor(engines, NOW)).toBeUndefined();
	});
});
