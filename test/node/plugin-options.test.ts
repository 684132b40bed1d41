import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSearch } from "../../miniflare/ai-search.ts";
import type { EmbeddedOptions } from "../../miniflare/api.ts";
import { readOptions, SETTINGS } from "../../miniflare/options.ts";
import { serviceName } from "../../miniflare/services.ts";
import { ConfigError } from "../../src/config/index.ts";

function mistakes(options: Record<string, unknown>, env: Record<string, string> = {}): readonly string[] {
	try {
		readOptions(options, env);
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
	return [];
}

describe("the published types", () => {
	it("know the kinds of backends and the shape of a route", () => {
		const options: EmbeddedOptions = {
			BACKENDS: { engine: { kind: "ollama", url: "http://localhost:11434" } },
			ROUTES: {
				"@cf/meta/*": [{ backend: "engine" }],
				"gpt-*": { targets: [{ backend: "engine" }], sticky: "session" },
			},
		};
		expect(mistakes({ ...options })).toEqual([]);
		// @ts-expect-error: no such kind.
		const kind: EmbeddedOptions = { BACKENDS: { engine: { kind: "opena", url: "http://localhost:11434" } } };
		expect(mistakes({ ...kind })).toEqual([expect.stringContaining('did you mean "openai"?')]);
		// @ts-expect-error: a target names its backend.
		const route: EmbeddedOptions = { ROUTES: { "@cf/meta/*": [{ model: "llama3.2" }] } };
		expect(mistakes({ ...route })).toEqual([
			expect.stringContaining('dev.options.ROUTES["@cf/meta/*"][0].backend'),
		]);
	});
});

it("the table of docs/local-binding.md has each option", () => {
	const page = readFileSync("docs/local-binding.md", "utf8");
	const [table = ""] = page.slice(page.indexOf("| Field")).split("\n\n", 1);
	const others = ["account", "engine", "localEngines", "pull"];
	const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) => [
		...cell.matchAll(/`(\w+)`/g),
	]);
	expect(named.map(([, name]) => name).sort()).toEqual([...SETTINGS, ...others, "recordings"].sort());
});

const ENGINE = { kind: "openai", url: "http://localhost:11434/v1", key: "ENGINE_KEY" };

describe("options of a gateway in the session", () => {
	it("are none, if one likes: the simulator, for the account `local`", () => {
		expect(() => readOptions(Object.fromEntries(Object.entries("hello")), {})).toThrow(
			"dev.options: expected an object, found text",
		);
		expect(readOptions({}, { HOME: "/" })).toMatchObject({
			kind: "embedded",
			account: "local",
			variables: { DEFAULT_BACKEND: "simulator" },
		});
	});

	it("hand over the settings and the secrets that they name, and nothing else of the environment", () => {
		const options = {
			account: "team-a",
			BACKENDS: { engine: { ...ENGINE, headers: { "x-tenant": { secret: "TENANT" } } } },
			DEFAULT_BACKEND: "engine",
		};
		const env = { ENGINE_KEY: "sk", TENANT: "t", OTHER_KEY: "no", ROUTES: "no", ALLOW_ANONYMOUS: "true" };
		expect(readOptions(options, env)).toMatchObject({ kind: "embedded", account: "team-a" });
		expect(readOptions(options, env)).toHaveProperty("variables", {
			AI_GATEWAY: { any_gateway: true, resumable_streams: true, share_provider_keys: true },
			BACKENDS: options.BACKENDS,
			DEFAULT_BACKEND: "engine",
			LIMITS: { requests_per_minute: "none" },
			ENGINE_KEY: "sk",
			TENANT: "t",
		});
	});

	it("hand over no variable with the name of a setting, which other programs have for other purposes", () => {
		const others = { JOBS: "max", STORAGE: "disk", CORS: "*", PUBLIC_URL: "/app", LEDGER: "1", SHARDS: "x" };
		expect(readOptions({}, others)).toHaveProperty("variables", {
			AI_GATEWAY: { any_gateway: true, resumable_streams: true, share_provider_keys: true },
			DEFAULT_BACKEND: "simulator",
			LIMITS: { requests_per_minute: "none" },
		});
	});

	it("name a secret in any case on Windows, which has one variable for all of them", () => {
		const options = { BACKENDS: { engine: ENGINE } };
		const env = { Engine_Key: "sk", routes: "no" };
		expect(readOptions(options, env, "win32")).toMatchObject({ variables: { ENGINE_KEY: "sk" } });
		expect(() => readOptions(options, env, "linux")).toThrow("ENGINE_KEY, which is not set");
		const url = { url: "http://localhost:8787", token: "TOKEN" };
		expect(readOptions(url, { Token: "t" }, "win32")).toMatchObject({ token: "t" });
		expect(() => readOptions(url, { Token: "t" }, "linux")).toThrow('did you mean "Token"?');
	});

	it("take the secret of the Worker before that of the environment in another case", () => {
		const env = { Engine_Key: "of the environment", ENGINE_KEY: "of the Worker" };
		expect(readOptions({ BACKENDS: { engine: ENGINE } }, env, "win32")).toHaveProperty(
			"variables.ENGINE_KEY",
			"of the Worker",
		);
	});

	it.each([
		["engine", "lokal", 'expected "local", found "lokal"; did you mean "local"?'],
		["engine", true, 'expected "local", found true'],
		["pull", "yes", "expected true or false, found text"],
	])("say what %s: %j should be", (name, value, sentence) => {
		expect(mistakes({ [name]: value })).toEqual([`dev.options.${name}: ${sentence}`]);
	});

	it("hand over the keys of providers that they name, and no variable of the environment by their name", () => {
		const env = { ANTHROPIC_API_KEY: "sk-ant", OTHER_KEY: "no", PROVIDER_KEYS: '{"openai":"OTHER_KEY"}' };
		expect(readOptions({ PROVIDER_KEYS: { anthropic: "ANTHROPIC_API_KEY" } }, env)).toHaveProperty(
			"variables",
			{
				AI_GATEWAY: { any_gateway: true, resumable_streams: true, share_provider_keys: true },
				PROVIDER_KEYS: { anthropic: "ANTHROPIC_API_KEY" },
				ANTHROPIC_API_KEY: "sk-ant",
				LIMITS: { requests_per_minute: "none" },
				DEFAULT_BACKEND: "simulator",
			},
		);
		expect(readOptions({}, env)).not.toHaveProperty("variables.PROVIDER_KEYS");
		expect(mistakes({ PROVIDER_KEYS: { anthropic: "NONE", antropic: "OTHER_KEY" } }, env)).toEqual([
			"dev.options.PROVIDER_KEYS.anthropic: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with `wrangler secret put`",
			expect.stringContaining('did you mean "anthropic"?'),
		]);
	});

	it("change single rules of gateways", () => {
		expect(readOptions({ AI_GATEWAY: { any_gateway: false } }, {})).toHaveProperty("variables.AI_GATEWAY", {
			any_gateway: false,
			resumable_streams: true,
			share_provider_keys: true,
		});
		expect(mistakes({ AI_GATEWAY: { any_gatewy: false } })).toEqual([
			expect.stringContaining(
				'dev.options.AI_GATEWAY.any_gatewy: expected no such field; did you mean "any_gateway"?',
			),
		]);
		expect(mistakes({ AI_GATEWAY: "open" })).toEqual([expect.stringContaining("dev.options.AI_GATEWAY")]);
	});

	it("share one gateway where the settings and the secrets are the same", () => {
		const name = (options: object, key = "sk") =>
			serviceName(readOptions({ ...options }, { ENGINE_KEY: key }));
		const routed = { BACKENDS: { engine: ENGINE } };
		expect(name({})).toBe(name({ account: "other" }));
		expect(name(routed)).toBe(name({ ...routed, account: "other" }));
		expect(name(routed)).not.toBe(name({}));
		expect(name(routed)).not.toBe(name(routed, "another"));
		expect(name({ PROVIDER_KEYS: { openai: "ENGINE_KEY" } })).not.toBe(name({}));
	});

	it("tell all their mistakes at once", () => {
		expect(
			mistakes({
				account: "a b",
				ROUTE: {},
				BACKENDS: { engine: ENGINE },
				ROUTES: { "*": [{ backend: "engin" }] },
				DEFAULT_BACKEND: 1,
				ALLOW_ANONYMOUS: "true",
			}),
		).toEqual([
			"dev.options.account: expected a name of up to 64 letters, digits, '_' and '-', found another text",
			'dev.options.ROUTE: expected no such field; did you mean "ROUTES"?',
			"dev.options.ALLOW_ANONYMOUS: expected no such field, only account, BACKENDS, PROVIDER_KEYS, ROUTES, LIMITS, MODELS, ALIASES, WEB_SEARCH, AI_GATEWAY, DEFAULT_BACKEND, localEngines, engine and pull",
			"dev.options.BACKENDS.engine.key: expected the name of a secret that is set, found ENGINE_KEY, which is not set; set it in .dev.vars, in the environment or with `wrangler secret put`",
			'dev.options.ROUTES["*"][0].backend: expected "engine" or "simulator", found "engin"; did you mean "engine"?',
			'dev.options.DEFAULT_BACKEND: expected "engine" or "simulator", found a number',
		]);
	});
});

describe("options of a gateway that already runs", () => {
	it("are its address, the account and the name of a token", () => {
		expect(
			readOptions({ url: "http://localhost:8787/", account: "a", token: "TOKEN" }, { TOKEN: "t" }),
		).toEqual({ kind: "url", url: "http://localhost:8787", account: "a", token: "t" });
		expect(readOptions({ url: "https://ai.example.com" }, {})).toEqual({
			kind: "url",
			url: "https://ai.example.com",
			account: "local",
		});
	});

	it.each([
		["localhost:8787", "an address that does not begin with http:// or https://"],
		["gateway", "text that is not an address"],
		["http://user:secret@localhost", "one with credentials (name a variable in token)"],
		["http://localhost:8787/client/v4", "one with a path, a query or a fragment"],
		["http://localhost:8787?", "one with a path, a query or a fragment"],
	])("refuse %s", (url, found) => {
		expect(mistakes({ url })).toEqual([
			`dev.options.url: expected the address of a gateway, such as http://localhost:8787, found ${found}`,
		]);
	});

	it("take no settings: the gateway has its own", () => {
		expect(mistakes({ url: 1, ROUTES: {}, token: "TOKN" }, { TOKEN: "t" })).toEqual([
			"dev.options.url: expected text, found a number",
			'dev.options.token: expected the name of a secret that is set, found text that names no secret; did you mean "TOKEN"?',
			"dev.options.ROUTES: expected no such field, only account, url and token",
		]);
	});
});

describe("options of AI Search", () => {
	const read = (type: string, options: Record<string, unknown>) => {
		try {
			return readSearch(type, options);
		} catch (error) {
			if (error instanceof ConfigError) return error.problems;
			throw error;
		}
	};

	it("are divided into those of the binding and those of the gateway", () => {
		expect(read("unsafe:ai_search", { instance_name: "docs", account: "team-a" })).toEqual({
			search: { instance_name: "docs" },
			others: { account: "team-a" },
		});
		expect(read("ai_search_namespace", {})).toEqual({ search: {}, others: {} });
	});

	it("name an instance by its id, and not over HTTP", () => {
		expect(read("ai_search", { url: "http://localhost:8787" })).toEqual([
			"dev.options.url: expected no such field: a gateway that runs has AI Search over REST",
			"dev.options.instance_name: expected the id of an instance, found nothing",
		]);
		expect(read("ai_search_namespace", { instance_name: "docs", namespace: "A" })).toEqual([
			'dev.options.namespace: expected up to 64 lower-case letters, digits, "_", and single "-" between them',
			"dev.options.instance_name: expected no such field of a namespace",
		]);
	});
});
