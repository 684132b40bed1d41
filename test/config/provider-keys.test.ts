import { describe, expect, it } from "vitest";
import { configure, describeRouting } from "../../src/config/index.ts";
import { ConfigError, Problems } from "../../src/config/problems.ts";
import { readProviderKeys } from "../../src/config/provider-keys.ts";
import { THIRD_PARTY_IDS } from "../../src/models/third-party.ts";
import { RouteTable } from "../../src/pipeline/route.ts";
import { PROVIDERS } from "../../src/providers/providers.ts";

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
				observed: {},
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
		for (const [author, { nameOf }] of Object.entries(PROVIDERS)) {
			const models = THIRD_PARTY_IDS.filter((id) => id.startsWith(`${author}/`));
			const names = models.map((id) => id.slice(author.length + 1)).map((name) => nameOf?.(name) ?? name);
			expect(new Set(names).size, author).toBe(models.length);
			for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
		}
		expect(PROVIDERS.minimax?.nameOf?.("m2.7")).toBe("MiniMax-M2.7");
		expect(PROVIDERS.minimax?.nameOf?.("speech-2.8-hd")).toBe("speech-2.8-hd");
	});

	it("knows addresses over TLS alone, without a slash at their end", () => {
		for (const [author, { url }] of Object.entries(PROVIDERS)) {
			expect(author).toMatch(/^[a-z][a-z-]*$/);
			expect(url).toMatch(/^https:\/\/[^?#]+[^/]$/);
		}
	});

	it("leaves an id to a more specific route", () => {
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

	it("reports every mistake, and shows no key", () => {
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
			"PROVIDER_KEYS.anthropic: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with `wrangler secret put`",
			"PROVIDER_KEYS.google: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with `wrangler secret put`",
			"PROVIDER_KEYS.groq: expected the name of a secret, found a number",
			"PROVIDER_KEYS.openai: expected an author that is not the name of a backend, found one of BACKENDS",
		]);
		expect(problemsOf({ constructor: "GEMINI_API_KEY" })[0]).toContain("expected ");
	});
});

describe("a configuration with provider keys", () => {
	const keys = { PROVIDER_KEYS: { openai: "OPENAI_API_KEY", groq: "GROQ_API_KEY" } };
	const env = { OPENAI_API_KEY: "sk-1", GROQ_API_KEY: "gsk-1", ...keys };

	it("serves the authors' models, also those that no catalogue has", () => {
		const { routing } = configure(env);
		expect(routing.find("openai/gpt-5")).toMatchObject({
			named: true,
			targets: [{ backend: "openai", urls: ["https://api.openai.com/v1"], key: "sk-1", model: "gpt-5" }],
		});
		expect(routing.find("groq/llama-3.3-70b-versatile")).toMatchObject({
			targets: [{ backend: "groq", key: "gsk-1", model: "llama-3.3-70b-versatile" }],
		});
		expect(routing.find("anthropic/claude-opus-5")).toBeUndefined();
	});

	it("lets routes name the providers as backends", () => {
		const { routing } = configure({
			...env,
			ROUTES: { "@cf/meta/*": [{ backend: "groq", model: "llama-3.3-70b-versatile" }] },
		});
		expect(routing.find("@cf/meta/llama-3.2-1b-instruct")).toMatchObject({
			targets: [{ backend: "groq", key: "gsk-1", model: "llama-3.3-70b-versatile" }],
		});
	});

	it("refuses a header beside a provider's key", () => {
		const route = { backend: "groq", headers: { authorization: "Bearer mine" } };
		expect(() => configure({ ...env, ROUTES: { x: [route] } })).toThrow(
			"ROUTES.x[0].headers.authorization: expected no such header beside a key, found both",
		);
	});

	it("lists the models that a key or a route was meant for, and no others", () => {
		const listed = (variables: object) =>
			configure(variables)
				.catalog.all.filter(({ source }) => source === 3)
				.map(({ id }) => id);
		const openai = listed(env);
		expect(openai).toContain("openai/gpt-5");
		expect(new Set(openai.map((id) => id.split("/")[0]))).toEqual(new Set(["openai"]));
		expect(listed({})).toEqual([]);
		expect(listed({ DEFAULT_BACKEND: "simulator", ROUTES: { "*": [{ backend: "simulator" }] } })).toEqual([]);
		expect(listed({ ROUTES: { "xai/grok-4.5": [{ backend: "simulator" }] } })).toEqual(["xai/grok-4.5"]);
		expect(listed({ ROUTES: { "anthropic/claude-opus*": [{ backend: "simulator" }] } })).toContain(
			"anthropic/claude-opus-5",
		);
	});

	it("takes an operator's prices of an author's model", () => {
		const prices = [{ unit: "per M input tokens", neurons: 100 }];
		const { catalog } = configure({ ...env, MODELS: { "openai/gpt-5": { prices } } });
		expect(catalog.find("openai/gpt-5")).toMatchObject({
			contextWindow: 128_000,
			prices: [{ neurons: 100 }],
		});
		expect(catalog.all.filter(({ id }) => id === "openai/gpt-5")).toHaveLength(1);
	});

	it("shows the routes in the banner, and no key", () => {
		expect(describeRouting(configure(env))).toEqual([
			"openai/*         ->  openai (https://api.openai.com/v1)",
			"groq/*           ->  groq (https://api.groq.com/openai/v1)",
			"everything else  ->  nothing",
		]);
	});

	it("takes the keys as text, too", () => {
		const asText = { ...env, PROVIDER_KEYS: JSON.stringify(keys.PROVIDER_KEYS) };
		expect(configure(asText).routing.find("openai/x")).toEqual(configure(env).routing.find("openai/x"));
	});
});
