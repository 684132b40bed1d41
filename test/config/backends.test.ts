import { describe, expect, it } from "vitest";
import { ConfigError, configure } from "../../src/config/index.ts";

const AI = { run: async () => new Response() };

function mistakes(entry: object, env: object = { AI }): readonly string[] {
	try {
		configure({ BACKENDS: { cf: entry }, ...env });
		return [];
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
}

describe("Workers AI by a binding", () => {
	it("is the binding, with no address, under the timeouts that it is given", () => {
		const { routing } = configure({
			AI,
			BACKENDS: { cf: { kind: "workers-ai", binding: "AI", timeouts: { header_ms: 5 } } },
			ROUTES: { "@cf/*": [{ backend: "cf" }] },
		});
		const [target] = routing.find("@cf/meta/llama-3.2-1b-instruct")?.targets ?? [];
		expect(target).toMatchObject({
			backend: "cf",
			kind: "workers-ai",
			urls: [""],
			model: "@cf/meta/llama-3.2-1b-instruct",
			headers: {},
			timeouts: { headerMs: 5 },
		});
		expect(target?.binding).toBe(AI);
		expect(target).not.toHaveProperty("key");
	});

	const expected = "BACKENDS.cf.binding: expected the name of an Ai binding of this Worker";

	it.each([
		["AJ", "text that names no binding"],
		["KEY", "text that names no binding"],
		[7, "a number"],
	])("named %j is told what it is", (binding, found) => {
		expect(mistakes({ kind: "workers-ai", binding }, { AI, KEY: "sk-secret" })).toEqual([
			`${expected}, found ${found}`,
		]);
	});

	it("has no address and no key", () => {
		const lines = mistakes(
			{ kind: "workers-ai", binding: "AI", url: "https://a.test", key: "KEY" },
			{ AI, KEY: "k" },
		);
		expect(lines).toHaveLength(2);
		expect(lines[0]).toMatch(/^BACKENDS\.cf\.url: expected no such field/);
		expect(lines[1]).toMatch(/^BACKENDS\.cf\.key: expected no such field/);
	});

	it("is of that kind alone", () => {
		const lines = mistakes({ kind: "openai", binding: "AI", url: "http://a.test" });
		expect(lines).toHaveLength(1);
		expect(lines[0]).toMatch(/^BACKENDS\.cf\.binding: expected no such field/);
	});
});

describe("the name of an engine as a kind", () => {
	it.each([
		["vllm", "openai"],
		["vLLM", "openai"],
		["llama.cpp", "openai"],
		["llama-server", "openai"],
		["lmstudio", "openai"],
		["LM Studio", "openai"],
		["sglang", "openai"],
		["tgi", "openai"],
		["openrouter", "openai"],
		["claude", "anthropic"],
		["google", "gemini"],
		["cloudflare", "workers-ai"],
	])("%s names the kind %s", (kind, api) => {
		const [line, ...others] = mistakes({ kind, url: "http://gpu-1:8000/v1" });
		expect(others).toEqual([]);
		expect(line).toMatch(/^BACKENDS\.cf\.kind: expected /);
		expect(line).toContain(`The kind names the API: for ${kind} use "${api}"`);
	});

	it("that nothing knows has no hint", () =>
		expect(mistakes({ kind: "acme", url: "http://gpu-1:8000/v1" })[0]).not.toContain("names the API"));
});
