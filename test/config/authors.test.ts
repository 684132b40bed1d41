import { describe, expect, it } from "vitest";
import { AUTHORS, readProviderKeys } from "../../src/config/authors.ts";
import { ConfigError, Problems } from "../../src/config/problems.ts";
import { RouteTable } from "../../src/config/routes.ts";
import { THIRD_PARTY_MODELS } from "../../src/models/third-party.ts";

const ENV = { ANTHROPIC_API_KEY: "sk-ant-secret\n", GEMINI_API_KEY: "AIza-secret", EMPTY: " " };

function read(keys: Record<string, unknown>, taken: string[] = []) {
	const problems = new Problems();
	const providers = readProviderKeys(Object.entries(keys), { env: ENV, taken: new Set(taken), problems });
	return { problems, providers };
}

function problemsOf(keys: Record<string, unknown>, taken?: string[]): readonly string[] {
	try {
		read(keys, taken).problems.throwIfAny();
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
	}
	return [];
}

describe("PROVIDER_KEYS", () => {
	it("makes a backend and a route of each key", () => {
		const { providers, problems } = read({ anthropic: "ANTHROPIC_API_KEY", google: "GEMINI_API_KEY" });
		problems.throwIfAny();
		expect(providers.map(({ backend }) => backend)).toEqual([
			{
				backend: "anthropic",
				kind: "anthropic",
				urls: ["https://api.anthropic.com"],
				key: "sk-ant-secret",
				headers: {},
				timeouts: { headerMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
			},
			expect.objectContaining({ backend: "google", kind: "gemini", key: "AIza-secret" }),
		]);
		expect(providers.map(({ route }) => route.pattern)).toEqual(["anthropic/*", "google/*"]);
	});

	it.each([
		["anthropic/claude-haiku-4.5", "claude-haiku-4-5"],
		["anthropic/claude-sonnet-4", "claude-sonnet-4-0"],
		["anthropic/claude-opus-5", "claude-opus-5"],
		["google/gemini-2.5-flash", "gemini-2.5-flash"],
		["google/gemini-3-flash", "gemini-3-flash-preview"],
		["google/nano-banana", "gemini-2.5-flash-image"],
		["google/imagen-4", "imagen-4.0-generate-001"],
		["google/constructor", "constructor"],
	])("asks for %s by its provider's name", (id, model) => {
		const { providers } = read({ anthropic: "ANTHROPIC_API_KEY", google: "GEMINI_API_KEY" });
		const table = new RouteTable(providers.map(({ route }) => route));
		const found = table.find(id);
		expect(found).toMatchObject({ named: true, targets: [{ model }] });
	});

	it("has every name that an author has for its own models, and no two the same", () => {
		for (const [author, { nameOf }] of Object.entries(AUTHORS)) {
			const models = THIRD_PARTY_MODELS.filter((model) => model.author === author);
			const names = models.map(({ id }) => id.slice(author.length + 1)).map((name) => nameOf?.(name) ?? name);
			expect(new Set(names).size, author).toBe(models.length);
			for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
		}
		expect(AUTHORS.minimax?.nameOf?.("m2.7")).toBe("MiniMax-M2.7");
		expect(AUTHORS.minimax?.nameOf?.("speech-2.8-hd")).toBe("speech-2.8-hd");
	});

	it("knows addresses over TLS alone, without a slash at their end", () => {
		for (const [author, { url }] of Object.entries(AUTHORS)) {
			expect(author).toMatch(/^[a-z][a-z-]*$/);
			expect(url).toMatch(/^https:\/\/[^?#]+[^/]$/);
		}
	});

	it("leaves an id to a route that says more of it", () => {
		const { providers } = read({ google: "GEMINI_API_KEY" });
		const [provider] = providers;
		if (!provider) throw new Error("no provider");
		const own = { backend: { ...provider.backend, backend: "own" }, headers: {} };
		const table = new RouteTable([
			{ pattern: "google/gemini-2.5-pro", targets: [own] },
			{ pattern: "*", targets: [own] },
			provider.route,
		]);
		const backendOf = (id: string) => table.find(id)?.targets[0]?.backend;
		expect(backendOf("google/gemini-2.5-pro")).toBe("own");
		expect(backendOf("google/gemini-2.5-flash")).toBe("google");
		expect(backendOf("openai/gpt-5")).toBe("own");
	});

	it("tells every mistake, and shows no key", () => {
		expect(
			problemsOf(
				{
					opnai: "GEMINI_API_KEY",
					anthropic: "sk-ant-put-here",
					google: "EMPTY",
					groq: 7,
					openai: "GEMINI_API_KEY",
				},
				["openai"],
			),
		).toEqual([
			'PROVIDER_KEYS.opnai: expected one of 16 names, found "opnai"; did you mean "openai"?',
			"PROVIDER_KEYS.anthropic: expected the name of a secret that is set, found the name of none",
			"PROVIDER_KEYS.google: expected the name of a secret that is set, found the name of none",
			"PROVIDER_KEYS.groq: expected the name of a secret, found a number",
			"PROVIDER_KEYS.openai: expected an author whose name no backend has, found one that BACKENDS has too",
		]);
		expect(problemsOf({ constructor: "GEMINI_API_KEY" })[0]).toContain("expected ");
	});
});
