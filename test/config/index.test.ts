import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Config, ConfigError, configure, describeRouting } from "../../src/config/index.ts";
import { Model } from "../../src/models/model.ts";
import { nameUuid } from "../../src/models/uuid.ts";

/** The lines of the error, or none. */
function mistakes(env: object): readonly string[] {
	try {
		configure(env);
		return [];
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
}

const OLLAMA = { kind: "openai", url: "http://localhost:11434/v1" };
const PREFILL = { url: "http://gpu-1", role: "prefill" };
const DECODE = { url: "http://gpu-2", role: "decode" };

const backend = (entry: unknown, more: object = {}) => mistakes({ BACKENDS: { a: entry }, ...more });
const model = (entry: unknown, id = "acme/x") => mistakes({ MODELS: { [id]: entry } });

describe("configure", () => {
	it("needs nothing, and then serves nothing and opens nothing", () => {
		const config = configure({});
		expect([...config.backends.keys()]).toEqual(["simulator"]);
		expect(config.routing.find("@cf/meta/llama-3.2-1b-instruct")).toBeUndefined();
		expect(config.limits).toMatchObject({ jsonBytes: 10_000_000, uploadBytes: 26_214_400, jsonDepth: 64 });
		expect(config.catalog.all).toHaveLength(114);
		expect(config.allowAnonymous).toBe(false);
	});

	it("takes each variable as JSON, as its text, or blank for unset", () => {
		const asText = configure({
			BACKENDS: JSON.stringify({ ollama: OLLAMA }),
			ROUTES: '{"m":[{"backend":"ollama"}]}',
			LIMITS: '{"json_depth":3}',
			MODELS: " ",
			ALLOW_ANONYMOUS: "true",
			DEFAULT_BACKEND: "",
		});
		const asJson = configure({
			BACKENDS: { ollama: OLLAMA },
			ROUTES: { m: [{ backend: "ollama" }] },
			LIMITS: { json_depth: 3 },
			MODELS: {},
			ALLOW_ANONYMOUS: true,
		});
		expect(asText.limits.jsonDepth).toBe(3);
		expect(asText).toEqual(asJson);
	});

	it("resolves a target with the secrets that it names", () => {
		const { routing } = configure({
			OPENAI_KEY: "sk-1\n",
			ACCESS: "access-1",
			BACKENDS: {
				pool: {
					kind: "openai",
					urls: ["http://gpu-1:8000/v1/", "HTTP://GPU-2:8000/v1"],
					key: "OPENAI_KEY",
					headers: { "CF-Access-Client-Secret": { secret: "ACCESS" }, "X-Team": "red" },
					timeouts: { header_ms: 5 },
				},
			},
			ROUTES: {
				"@cf/meta/*": [{ backend: "pool", model: "llama", weight: 2, headers: { "x-team": "blue" } }],
			},
		});
		expect(routing.find("@cf/meta/llama-3.2-1b-instruct")).toEqual({
			billed: true,
			named: true,
			strict: false,
			targets: [
				{
					backend: "pool",
					kind: "openai",
					urls: ["http://gpu-1:8000/v1", "http://gpu-2:8000/v1"],
					model: "llama",
					key: "sk-1",
					headers: { "cf-access-client-secret": "access-1", "x-team": "blue" },
					timeouts: { headerMs: 5, idleMs: 60_000, totalMs: 600_000 },
					observed: {},
					weight: 2,
				},
			],
		});
	});

	it("takes the replicas of a pool from a service that lists them", () => {
		const { backends } = configure({
			BACKENDS: {
				short: { kind: "openai", pool: { discover: "http://registry/replicas?model=a" } },
				long: {
					kind: "tei",
					pool: {
						discover: { url: "http://registry", path: "", refresh_ms: 5_000 },
						replicas: ["http://a"],
						poll_ms: 1_000,
					},
				},
			},
		});
		expect(backends.get("short")).toMatchObject({
			urls: [""],
			pool: { discover: { url: "http://registry/replicas?model=a", path: "/v1", refreshMs: 30_000 } },
		});
		expect(backends.get("long")).toMatchObject({
			urls: ["http://a"],
			pool: { discover: { url: "http://registry", path: "", refreshMs: 5_000 }, pollMs: 1_000 },
		});
	});

	it("takes a pool of two stages whose replicas only a list names, with their roles", () => {
		const { backends } = configure({
			BACKENDS: {
				vllm: { kind: "openai", pool: { discover: "http://registry", disaggregation: "nixl" } },
				sglang: {
					kind: "openai",
					pool: { discover: "http://registry", replicas: [PREFILL], disaggregation: "sglang" },
				},
			},
		});
		expect(backends.get("vllm")?.pool?.disaggregation).toMatchObject({ protocol: "nixl", roles: {} });
		expect(backends.get("sglang")?.pool?.disaggregation).toMatchObject({
			protocol: "sglang",
			roles: { "http://gpu-1": "prefill" },
			bootstrapPorts: {},
		});
	});

	it("sends what no route names to the default backend, under the caller's own name", () => {
		const { routing } = configure({
			DEFAULT_BACKEND: "simulator",
			ROUTES: { m: [{ backend: "simulator" }] },
		});
		const target = {
			backend: "simulator",
			kind: "simulator",
			urls: [""],
			headers: {},
			timeouts: { headerMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
		};
		expect(routing.find("m")).toEqual({
			billed: false,
			named: true,
			strict: true,
			isSimulated: true,
			targets: [{ ...target, model: "m" }],
		});
		expect(routing.find("other")).toEqual({
			billed: false,
			named: false,
			strict: true,
			isSimulated: true,
			targets: [{ ...target, model: "other", anyModel: true }],
		});
	});

	it("makes a text model of each exact route that no catalogue knows", () => {
		const { catalog, adHoc } = configure({
			ROUTES: {
				"llama3.2": [{ backend: "simulator" }],
				"mistral*": [{ backend: "simulator" }],
				"@cf/baai/bge-m3": [{ backend: "simulator" }],
				"acme/x": [{ backend: "simulator" }],
			},
			MODELS: { "acme/x": { task: "Translation" } },
		});
		expect(adHoc).toEqual(["llama3.2"]);
		expect(catalog.all).toHaveLength(116);
		expect(catalog.find("llama3.2")).toMatchObject({ task: "Text Generation", input: "chat-openai" });
		expect(catalog.find("@cf/baai/bge-m3")?.task).toBe("Text Embeddings");
		expect(catalog.find("acme/x")?.task).toBe("Translation");
	});
});

describe("MODELS", () => {
	const configured = (entry: unknown, id = "acme/x"): Model => {
		const found = configure({ MODELS: { [id]: entry } }).catalog.find(id);
		if (!found) throw new Error(`${id} is missing`);
		return found;
	};

	it("adds a model, with its task's usual shapes", () => {
		const own = configured({
			task: "Text Embeddings",
			dimensions: 256,
			context_window: 8192,
			max_input_tokens: 512,
			created: "2026-01-02",
			description: "Ours.",
			prices: [{ unit: "per M input tokens", neurons: 4625 }],
		});
		expect(own).toEqual({
			id: "acme/x",
			uuid: nameUuid("acme/x"),
			source: 0,
			task: "Text Embeddings",
			author: "acme",
			created: "2026-01-02",
			description: "Ours.",
			status: "active",
			contextWindow: 8192,
			maxInputTokens: 512,
			dimensions: 256,
			input: "embeddings-text",
			output: "embeddings-plain",
			defaults: {},
			capabilities: [],
			prices: [{ unit: "per M input tokens", neurons: 4625, usd: 0.050875 }],
			tags: [],
		});
		expect(Model.parse(own)).toEqual(own);
	});

	it.each([
		[{ task: "Text Generation" }, "chat-openai", "openai-chat-completion"],
		[{ task: "Text Generation", input: "chat" }, "chat", "text-response"],
		[
			{ task: "Text Generation", input: "chat", output: "openai-chat-completion" },
			"chat",
			"openai-chat-completion",
		],
		[{ task: "Text-to-Image" }, "tti-lucid", "image-b64"],
		[{ task: "Automatic Speech Recognition" }, "whisper-b64", "transcription-v3"],
	])("gives %j the shapes %s and %s", (entry, input, output) => {
		expect(configured(entry)).toMatchObject({ input, output });
	});

	it("overrides only what is named of a catalogue model, in its place", () => {
		const product = configure({}).catalog;
		const id = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
		const { catalog } = configure({
			MODELS: { [id]: { context_window: 8192, capabilities: ["streaming"] } },
		});
		expect(catalog.find(id)).toEqual({
			...product.find(id),
			contextWindow: 8192,
			capabilities: ["streaming"],
		});
		expect(catalog.all.map((one) => one.id)).toEqual(product.all.map((one) => one.id));
	});

	it("drops a catalogue model's fields and defaults with the way it was written", () => {
		expect(configured({ input: "chat-openai" }, "@cf/deepseek-ai/deepseek-math-7b-base")).toMatchObject({
			input: "chat-openai",
			// It still fits, so it stays.
			output: "text-response-legacy",
			defaults: {},
		});
		expect(configured({ input: "chat-openai" }, "@cf/deepseek-ai/deepseek-math-7b-base")).not.toHaveProperty(
			"inputFields",
		);
		expect(configured({ task: "Text Embeddings" }, "@cf/meta/llama-guard-3-8b")).toMatchObject({
			input: "embeddings-text",
			output: "embeddings-plain",
		});
	});
});

describe("ConfigError", () => {
	it("lists the mistakes of all variables at once, a line each", () => {
		const env = {
			BACKENDS: { ollama: { kind: "openai", url: "localhost:11434" } },
			ROUTES: { "@cf/meta/*": [{ backend: "olama" }] },
			LIMITS: { json_byte: 1 },
			MODELS: '{"a":',
			DEFAULT_BACKEND: "cloud",
			ALLOW_ANONYMOUS: "yes",
		};
		expect(() => configure(env)).toThrow(
			new ConfigError([
				"BACKENDS.ollama.url: expected the http or https address of an engine, found an address that does not begin with http:// or https://",
				'ROUTES["@cf/meta/*"][0].backend: expected "ollama" or "simulator", found "olama"; did you mean "ollama"?',
				'ALLOW_ANONYMOUS: expected "true" or "false", found "yes"',
				'LIMITS.json_byte: expected no such field; did you mean "json_bytes"?',
				"MODELS: expected JSON, found text that is not JSON (it ends too early)",
				'DEFAULT_BACKEND: expected "ollama" or "simulator", found "cloud"',
			]),
		);
		expect(new ConfigError(["A: x", "B: y"]).message).toBe(
			"The configuration has 2 mistakes:\n  A: x\n  B: y",
		);
		expect(new ConfigError(["A: x"]).message).toBe("The configuration has a mistake:\n  A: x");
	});

	it.each([
		[{ BACKENDS: [] }, "BACKENDS: expected an object, found a list"],
		[{ ROUTES: 5 }, "ROUTES: expected an object, found a number"],
		[{ LIMITS: "null" }, "LIMITS: expected an object, found null"],
		[{ MODELS: '"sk-1"' }, "MODELS: expected an object, found text"],
		[{ ALLOW_ANONYMOUS: 1 }, 'ALLOW_ANONYMOUS: expected "true" or "false", found a number'],
		[
			{ DEFAULT_BACKEND: "simulater" },
			'DEFAULT_BACKEND: expected "simulator", found "simulater"; did you mean "simulator"?',
		],
		[{ LIMITS: { json_depth: 0 } }, "LIMITS.json_depth: expected at least 1, found 0"],
		[{ LIMITS: { json_bytes: 1.5 } }, "LIMITS.json_bytes: expected a whole number, found 1.5"],
		[{ LIMITS: { upload_bytes: "1MB" } }, "LIMITS.upload_bytes: expected a number, found text"],
	])("%j", (env, line) => {
		expect(mistakes(env)).toEqual([line]);
	});

	it.each([
		["text", "BACKENDS.a: expected an object, found text"],
		[
			{ url: OLLAMA.url },
			'BACKENDS.a.kind: expected "simulator", "openai", "anthropic", "gemini", "tei", "ollama", "workers-ai", "local" or "cog", found nothing',
		],
		[
			{ ...OLLAMA, kind: "opnai" },
			'BACKENDS.a.kind: expected one of 9 names, found "opnai"; did you mean "openai"?',
		],
		[{ kind: "openai" }, "BACKENDS.a: expected either url or urls, found neither"],
		[{ ...OLLAMA, urls: [OLLAMA.url] }, "BACKENDS.a: expected either url or urls, found both"],
		[{ kind: "openai", urls: [] }, "BACKENDS.a.urls: expected one or more, found none"],
		[
			{ kind: "openai", urls: [OLLAMA.url, "http://"] },
			"BACKENDS.a.urls[1]: expected the http or https address of an engine, found text that is not an address",
		],
		[
			{ kind: "openai", url: "ftp://engine" },
			"BACKENDS.a.url: expected the http or https address of an engine, found an address that does not begin with http:// or https://",
		],
		[
			{ kind: "openai", url: "https://me:sk-1@engine/v1" },
			"BACKENDS.a.url: expected the http or https address of an engine, found one with credentials (name a secret in key or headers)",
		],
		[
			{ kind: "openai", url: "https://engine/v1?key=sk-1" },
			"BACKENDS.a.url: expected the http or https address of an engine, found one with a query",
		],
		[
			{ kind: "openai", url: "https://engine/v1#" },
			"BACKENDS.a.url: expected the http or https address of an engine, found one with a fragment",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { replicas: [OLLAMA.url] } },
			"BACKENDS.a: expected no url beside pool.replicas, found both",
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1"], poll_ms: 100 } },
			"BACKENDS.a.pool.poll_ms: expected at least 500, found 100",
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1"], cache_salt: true, shared_prompts: true } },
			"BACKENDS.a.pool.cache_salt: expected no shared_prompts beside it, found both",
		],
		[
			{ kind: "ollama", pool: { replicas: ["http://gpu-1"], priority: { batch: 10 } } },
			'BACKENDS.a.pool.priority: expected a backend of kind "openai" beside it, found one of kind "ollama"',
		],
		[
			{
				kind: "openai",
				pool: { replicas: ["http://gpu-1"], max_requests: 1, queue: { weights: { acme: 0 } } },
			},
			"BACKENDS.a.pool.queue.weights.acme: expected more than 0, found 0",
		],
		[
			{ kind: "openai", pool: { discover: "registry:8080" } },
			"BACKENDS.a.pool.discover: expected an http or https address, found another value",
		],
		[
			{ kind: "openai", pool: { discover: { url: "http://registry", path: "v1" } } },
			'BACKENDS.a.pool.discover.path: expected "" or a path like "/v1", found another text',
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { wake: 8080 } },
			"BACKENDS.a.pool.wake: expected an address or an object, found a number",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { wake: "8080" } },
			"BACKENDS.a.pool.wake: expected an http or https address, found another value",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { wake: { url: "8080" } } },
			"BACKENDS.a.pool.wake.url: expected an http or https address, found another value",
		],
		[
			{ kind: "openai", pool: { discover: true } },
			"BACKENDS.a.pool.discover: expected an address or an object, found true",
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1", 8000] } },
			"BACKENDS.a.pool.replicas[1]: expected an address or an object, found a number",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { disaggregation: ["nixl"] } },
			"BACKENDS.a.pool.disaggregation: expected the name of a protocol or an object, found a list",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { wake: { url: "http://scaler", cooldown: 5 } } },
			'BACKENDS.a.pool.wake.cooldown: expected no such field; did you mean "cooldown_ms"?',
		],
		[
			{ kind: "openai", pool: {} },
			"BACKENDS.a: expected pool.replicas or pool.discover, or urls beside pool, found none",
		],
		[
			{ kind: "openai", pool: { replicas: [] } },
			"BACKENDS.a.pool.replicas: expected one or more, found none",
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1", { url: "http://gpu-2", role: "encode" }] } },
			'BACKENDS.a.pool.replicas[1].role: expected "both", "prefill" or "decode", found "encode"; did you mean "decode"?',
		],
		[
			{ kind: "openai", pool: { replicas: [PREFILL, "http://gpu-3"], disaggregation: "nixl" } },
			'BACKENDS.a.pool.replicas: expected a replica of the role "decode" beside one of the role "prefill", found none',
		],
		[
			{ kind: "openai", pool: { replicas: [DECODE], disaggregation: "nixl" } },
			'BACKENDS.a.pool.replicas: expected a replica of the role "prefill" beside one of the role "decode", found none',
		],
		[
			{ kind: "openai", pool: { replicas: [PREFILL, DECODE] } },
			'BACKENDS.a.pool.disaggregation: expected "nixl", "sglang" or "tensorrt-llm" beside replicas with roles, found none',
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1"], disaggregation: "nixl" } },
			'BACKENDS.a.pool.replicas: expected replicas of the roles "prefill" and "decode" beside disaggregation, found none',
		],
		[
			{ kind: "openai", api: "responses", pool: { replicas: [PREFILL, DECODE], disaggregation: "nixl" } },
			'BACKENDS.a.api: expected "chat" beside pool.disaggregation, whose two calls are chat completions, found "responses"',
		],
		[
			{ kind: "openai", pool: { replicas: [PREFILL, DECODE], disaggregation: "nixll" } },
			'BACKENDS.a.pool.disaggregation: expected "nixl", "sglang" or "tensorrt-llm", found "nixll"; did you mean "nixl"?',
		],
		[
			{
				kind: "openai",
				pool: {
					replicas: [PREFILL, DECODE],
					disaggregation: { protocol: "sglang", rewrite_remote_host: true },
				},
			},
			'BACKENDS.a.pool.disaggregation.rewrite_remote_host: expected no such field beside the protocol "sglang", only beside "nixl"',
		],
		[
			{
				kind: "openai",
				pool: { replicas: [PREFILL, { ...DECODE, bootstrap_port: 9000 }], disaggregation: "sglang" },
			},
			'BACKENDS.a.pool.replicas[1].bootstrap_port: expected no such field, except at a replica of the role "prefill" beside the protocol "sglang"',
		],
		[
			{ kind: "tei", pool: { replicas: ["http://gpu-1"], preload: true } },
			'BACKENDS.a.pool.preload: expected a backend of kind "openai" or "ollama" beside it, found one of kind "tei"',
		],
		[
			{ kind: "openai", pool: { replicas: [PREFILL, DECODE], disaggregation: "nixl", preload: true } },
			"BACKENDS.a.pool.preload: expected no disaggregation beside it, found both",
		],
		[
			{ kind: "ollama", pool: { replicas: [PREFILL, DECODE], disaggregation: "nixl" } },
			'BACKENDS.a.pool.disaggregation: expected a backend of kind "openai" beside it, found one of kind "ollama"',
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1", "gpu-2"] } },
			"BACKENDS.a.pool.replicas[1]: expected the http or https address of an engine, found text that is not an address",
		],
		[
			{ kind: "openai", pool: { replicas: ["http://gpu-1", "http://gpu-1/"] } },
			"BACKENDS.a.pool.replicas[1]: expected different replicas, found one twice",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { queue: { max: 5 } } },
			"BACKENDS.a.pool.queue: expected max_requests beside it, found none",
		],
		[
			{ kind: "openai", url: OLLAMA.url, pool: { policy: "fastest" } },
			'BACKENDS.a.pool.policy: expected "expected", "least-tokens", "round-robin" or "sticky", found "fastest"',
		],
		[{ kind: "openai", url: 5 }, "BACKENDS.a.url: expected text, found a number"],
		[{ ...OLLAMA, uri: "x" }, 'BACKENDS.a.uri: expected no such field; did you mean "url"?'],
		[
			{ ...OLLAMA, colour: "x" },
			"BACKENDS.a.colour: expected no such field, only url, urls, key, headers, timeouts, system_messages, num_ctx, api, price, adapters and pool",
		],
		[{ kind: "simulator", url: OLLAMA.url }, "BACKENDS.a.url: expected no such field"],
		[
			{ ...OLLAMA, key: "OPENAI_KEI" },
			'BACKENDS.a.key: expected the name of a secret that is set, found OPENAI_KEI, which is not set; did you mean "OPENAI_KEY"?',
		],
		[
			{ ...OLLAMA, key: "EMPTY" },
			"BACKENDS.a.key: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with `wrangler secret put`",
		],
		[{ ...OLLAMA, key: 5 }, "BACKENDS.a.key: expected the name of a secret, found a number"],
		[
			{ ...OLLAMA, key: "TWO_LINES" },
			"BACKENDS.a.key: expected a secret that fits into a header, found one that does not",
		],
		[{ ...OLLAMA, headers: "x: y" }, "BACKENDS.a.headers: expected an object, found text"],
		[
			{ ...OLLAMA, headers: { Host: "x" } },
			"BACKENDS.a.headers.Host: expected a header that is free to set, found a reserved one",
		],
		[
			{ ...OLLAMA, headers: { "CF-Connecting-IP": "x" } },
			'BACKENDS.a.headers["CF-Connecting-IP"]: expected a header that is free to set, found one of Cloudflare\'s',
		],
		[
			{ ...OLLAMA, headers: { "x y": "z" } },
			'BACKENDS.a.headers["x y"]: expected the name of a header, found another text',
		],
		[
			{ ...OLLAMA, headers: { x: "a\nb" } },
			'BACKENDS.a.headers.x: expected text or {"secret": its name}, found text that no header can hold',
		],
		[
			{ ...OLLAMA, headers: { x: { secrt: "OPENAI_KEY" } } },
			'BACKENDS.a.headers.x: expected text or {"secret": its name}, found an object',
		],
		[
			{ ...OLLAMA, headers: { x: { secret: "NOPE" } } },
			"BACKENDS.a.headers.x: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with `wrangler secret put`",
		],
		[
			{ ...OLLAMA, key: "OPENAI_KEY", headers: { Authorization: "Basic x" } },
			"BACKENDS.a.headers.Authorization: expected no such header beside a key, found both",
		],
		[{ ...OLLAMA, timeouts: { idle_ms: 0 } }, "BACKENDS.a.timeouts.idle_ms: expected at least 1, found 0"],
		[
			{ ...OLLAMA, timeouts: { total_ms: 86_400_001 } },
			"BACKENDS.a.timeouts.total_ms: expected at most 86400000, found 86400001",
		],
		[
			{ ...OLLAMA, timeouts: { idle: 5 } },
			`BACKENDS.a.timeouts.idle: expected no such field; did you mean "idle_ms"?`,
		],
	])("BACKENDS: %j", (entry, line) => {
		expect(backend(entry, { OPENAI_KEY: "sk-1", EMPTY: " ", TWO_LINES: "a\nb" })).toEqual([line]);
	});

	it("keeps the simulator's name for the simulator, which may also have another", () => {
		expect(mistakes({ BACKENDS: { simulator: OLLAMA } })).toEqual([
			'BACKENDS.simulator.kind: expected "simulator", found "openai" (the name is the built-in simulator\'s)',
		]);
		expect(mistakes({ BACKENDS: { simulator: { kind: "simulator" }, fake: { kind: "simulator" } } })).toEqual(
			[],
		);
	});

	it("refuses a name that no header could carry", () => {
		expect(mistakes({ BACKENDS: { "my gpu": OLLAMA } })).toEqual([
			`BACKENDS["my gpu"]: expected a name of up to 64 letters, digits, '.', '_' and '-', found another`,
		]);
	});

	it("takes Authorization where there is no key, and Cloudflare's headers for clients", () => {
		const headers = { Authorization: "Basic x", "cf-aig-authorization": "y", "CF-Access-Client-Id": "z" };
		expect(backend({ ...OLLAMA, headers })).toEqual([]);
	});

	it.each([
		[[], "ROUTES.m: expected one or more, found none"],
		[
			"ollama",
			'ROUTES.m: expected a list of targets such as [{"backend": "NAME"}], or an object with "targets", found text',
		],
		[
			{ backend: "ollama" },
			'ROUTES.m: expected a list of targets such as [{"backend": "NAME"}], or an object with "targets", found a target that is in no list',
		],
		[{ targets: [] }, "ROUTES.m.targets: expected one or more, found none"],
		[
			{ targets: [{ backend: "olama" }] },
			'ROUTES.m.targets[0].backend: expected "ollama", "broken" or "simulator", found "olama"; did you mean "ollama"?',
		],
		[
			{ targets: [{ backend: "ollama" }], hedge_m: 1 },
			'ROUTES.m.hedge_m: expected no such field; did you mean "hedge_ms"?',
		],
		[
			{ targets: [{ backend: "ollama" }], timeouts: { total_ms: 0 } },
			"ROUTES.m.timeouts.total_ms: expected at least 1, found 0",
		],
		[
			{ targets: [{ backend: "ollama" }], retries: { attempts: 11 } },
			"ROUTES.m.retries.attempts: expected at most 10, found 11",
		],
		[
			{ targets: [{ backend: "ollama" }], sticky: "user" },
			'ROUTES.m.sticky: expected "session", found "user"',
		],
		[
			[{ backend: "ollama", continues: "yes" }],
			'ROUTES.m[0].continues: expected true, false, "prefill" or "vllm", found "yes"',
		],
		[
			[{ backend: "ollama", timeouts: { first_ms: 5 } }],
			'ROUTES.m[0].timeouts.first_ms: expected no such field; did you mean "first_token_ms"?',
		],
		[
			[{ backend: "ollama", timeouts: { read_ms: 5 } }],
			"ROUTES.m[0].timeouts.read_ms: expected no such field, only header_ms, first_token_ms, idle_ms and total_ms",
		],
		[
			[{ backend: "ollama", loras: ["*"] }],
			'ROUTES.m[0].loras[0]: expected the name of an adapter, or how some begin and a "*", found another',
		],
		[
			[{ backend: "ollama", weights: "line\nbreak" }],
			"ROUTES.m[0].weights: expected up to 256 characters that fit into a header, found another text",
		],
		[[{ backend: "ollama", loras: "mine" }], "ROUTES.m[0].loras: expected a list, found text"],
		[["ollama"], 'ROUTES.m[0]: expected a target such as {"backend": "NAME"}, found text'],
		[[{ model: "x" }], 'ROUTES.m[0].backend: expected "ollama", "broken" or "simulator", found nothing'],
		[
			[{ backend: "ollama" }, { backend: "vllm" }],
			'ROUTES.m[1].backend: expected "ollama", "broken" or "simulator", found "vllm"',
		],
		[
			[{ backend: "ollama", model: "llama*" }],
			"ROUTES.m[0].model: expected the name of one model, found a pattern",
		],
		[[{ backend: "ollama", model: "" }], "ROUTES.m[0].model: expected one or more characters, found none"],
		[[{ backend: "ollama", weight: 0 }], "ROUTES.m[0].weight: expected more than 0, found 0"],
		[[{ backend: "ollama", weight: "1" }], "ROUTES.m[0].weight: expected a number, found text"],
		[[{ backend: "ollama", modle: "x" }], 'ROUTES.m[0].modle: expected no such field; did you mean "model"?'],
		[
			[{ backend: "ollama", headers: { authorization: "x" } }],
			"ROUTES.m[0].headers.authorization: expected no such header beside a key, found both",
		],
		[
			[{ backend: "ollama", headers: { te: "x" } }],
			"ROUTES.m[0].headers.te: expected a header that is free to set, found a reserved one",
		],
	])("ROUTES: %j", (entry, line) => {
		const BACKENDS = { ollama: { ...OLLAMA, key: "KEY" }, broken: { kind: "openai" } };
		const lines = mistakes({ KEY: "k", BACKENDS, ROUTES: { m: entry } });
		// A backend with a mistake of its own is told once, not missed by every route to it.
		expect(lines).toEqual(["BACKENDS.broken: expected either url or urls, found neither", line]);
		expect(mistakes({ KEY: "k", BACKENDS, ROUTES: { m: [{ backend: "broken" }] } })).toHaveLength(1);
	});

	it.each(["", "a b"])("refuses the route %j", (pattern) => {
		expect(mistakes({ ROUTES: { [pattern]: [{ backend: "simulator" }] } })).toEqual([
			`ROUTES[${JSON.stringify(pattern)}]: expected a model id or a pattern, found spaces or nothing`,
		]);
	});

	it.each([
		[{}, /^MODELS\["acme\/x"\]\.task: expected "Text Generation", .* or "Dumb Pipe", found nothing$/],
		[
			{ task: "Text generatoin" },
			'MODELS["acme/x"].task: expected one of 12 names, found "Text generatoin"; did you mean "Text Generation"?',
		],
		[
			{ task: "Translation", input: "chat" },
			'MODELS["acme/x"].input: expected "translation-m2m" or "translation-indic" for Translation, found "chat"',
		],
		[
			{ task: "Translation", output: "labels" },
			'MODELS["acme/x"].output: expected "translation" for input "translation-m2m", found "labels"',
		],
		[
			{ task: "Translation", context_window: 0 },
			'MODELS["acme/x"].context_window: expected at least 1, found 0',
		],
		[
			{ task: "Translation", created: "2026-02-30" },
			'MODELS["acme/x"].created: expected a date (YYYY-MM-DD), found another value',
		],
		[
			{ task: "Translation", prices: [{ unit: "per M output tokns", neurons: 1 }] },
			'MODELS["acme/x"].prices[0].unit: expected one of 23 names, found "per M output tokns"; did you mean "per M output tokens"?',
		],
		[
			{ task: "Translation", prices: [{ unit: "per step", neurons: -1 }] },
			'MODELS["acme/x"].prices[0].neurons: expected at least 0, found -1',
		],
		[
			{ task: "Translation", capabilities: ["stream"] },
			/^MODELS\["acme\/x"\]\.capabilities\[0\]: expected .*, found "stream"; did you mean "streaming"\?$/,
		],
		[
			{ task: "Translation", contextWindow: 5 },
			/contextWindow: expected no such field; did you mean "context_window"\?$/,
		],
	])("MODELS: %j", (entry, line) => {
		const lines = model(entry);
		expect(lines).toHaveLength(1);
		expect(lines[0]).toEqual(typeof line === "string" ? line : expect.stringMatching(line));
	});

	it("reports every mistake of one entry", () => {
		expect(model({ task: "Translation", input: "chat", created: "soon", dimensions: -1 })).toHaveLength(3);
		expect(
			backend({
				kind: "x",
				url: "y",
				urls: [],
				key: "NOPE",
				headers: { te: "z" },
				timeouts: { idle_ms: 0 },
				more: 1,
			}),
		).toHaveLength(8);
	});

	it("refuses an override that does not fit, and a model whose id is a pattern", () => {
		expect(model({ output: "labels" }, "@cf/baai/bge-m3")).toEqual([
			'MODELS["@cf/baai/bge-m3"].output: expected "embeddings-m3" for input "embeddings-m3", found "labels"',
		]);
		expect(model({ task: "Translation" }, "acme/*")).toEqual([
			'MODELS["acme/*"]: expected the id of one model, found spaces, a pattern or nothing',
		]);
	});

	it("never shows a secret, wherever it was put", () => {
		const secretText = fc.stringMatching(/^[\w-]{12,40}$/);
		// Each is a mistake, with the secret where some put it.
		const places: ((secret: string) => object)[] = [
			(secret) => ({ BACKENDS: `{"a":{"kind":"openai","key":"${secret}"` }),
			(secret) => ({ BACKENDS: JSON.stringify(secret) }),
			(secret) => ({ BACKENDS: { a: secret } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, key: secret } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, key: { secret } } } }),
			(secret) => ({ BACKENDS: { a: { kind: "openai", url: `https://x:${secret}@engine/v1` } } }),
			(secret) => ({ BACKENDS: { a: { kind: "openai", url: `https://engine/v1?key=${secret}` } } }),
			(secret) => ({ BACKENDS: { a: { kind: "openai", url: secret } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, headers: `Authorization: Bearer ${secret}` } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, headers: { host: secret } } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, headers: { x: { secret } } } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, headers: { x: `${secret}\n` } } } }),
			(secret) => ({ BACKENDS: { a: { ...OLLAMA, apikey: secret } } }),
			(secret) => ({ KEY: `${secret}\nx`, BACKENDS: { a: { ...OLLAMA, key: "KEY" } } }),
			(secret) => ({
				KEY: secret,
				BACKENDS: { a: { ...OLLAMA, key: "KEY", headers: { authorization: secret } } },
			}),
			(secret) => ({ ROUTES: { m: secret } }),
			(secret) => ({ ROUTES: { m: [{ backend: "simulator", weight: secret, model: `${secret}*` }] } }),
			(secret) => ({ LIMITS: { json_bytes: secret } }),
			(secret) => ({ MODELS: { m: { task: "Translation", created: secret } } }),
		];
		fc.assert(
			fc.property(secretText, fc.constantFrom(...places), (secret, place) => {
				const lines = mistakes(place(secret));
				expect(lines.length).toBeGreaterThan(0);
				expect(lines.join("\n")).not.toContain(secret);
			}),
			{ numRuns: 300 },
		);
	});
});

describe("describeRouting", () => {
	const config: Config = configure({
		KEY: "sk-very-secret",
		BACKENDS: {
			ollama: OLLAMA,
			pool: {
				kind: "openai",
				urls: ["http://gpu-1/v1", "http://gpu-2/v1", "http://gpu-3/v1"],
				key: "KEY",
				headers: { "x-key": { secret: "KEY" } },
			},
		},
		ROUTES: {
			"@cf/meta/*": [{ backend: "ollama", model: "llama3.2" }],
			"llama3.2": [{ backend: "ollama" }],
			"@cf/openai/gpt-oss-20b": [{ backend: "pool", weight: 3 }, { backend: "simulator" }],
		},
		DEFAULT_BACKEND: "simulator",
	});

	it("lists the routes in the configured order, and the default last", () => {
		expect(describeRouting(config)).toEqual([
			"@cf/meta/*              ->  ollama (http://localhost:11434/v1) llama3.2",
			"llama3.2                ->  ollama (http://localhost:11434/v1) (not in the catalogue: a text model)",
			"@cf/openai/gpt-oss-20b  ->  pool (http://gpu-1/v1 and 2 more) weight 3; simulator",
			"everything else         ->  simulator",
		]);
		expect(describeRouting(configure({}))).toEqual(["every model  ->  nothing"]);
		const ROUTES = { "*": [{ backend: "simulator" }] };
		expect(describeRouting(configure({ ROUTES }))).toEqual(["*  ->  simulator"]);
	});

	it("says which weights are not on the disk", () => {
		const target = (weights: string, absent = {}) => [{ backend: "ollama", weights, ...absent }];
		const routes = {
			a: target("x/y; sibling", { weights_absent: true }),
			b: target("x/y@1a2b; same"),
			// An operator's own text, without a revision.
			c: target("our weights of May"),
		};
		expect(describeRouting(configure({ BACKENDS: { ollama: OLLAMA }, ROUTES: routes })).slice(0, 3)).toEqual([
			expect.stringMatching(/ \[x\/y; sibling; not on the disk\]/),
			expect.stringMatching(/ \[x\/y@1a2b; same\]/),
			expect.stringMatching(/ \[our weights of May\]/),
		]);
	});

	it("names the routes that pass streams through", () => {
		const targets = [{ backend: "ollama" }];
		const routes = { "@cf/meta/*": { targets, passthrough: true }, mine: { targets, passthrough: true } };
		expect(describeRouting(configure({ BACKENDS: { ollama: OLLAMA }, ROUTES: routes })).slice(0, 2)).toEqual([
			"@cf/meta/*       ->  ollama (http://localhost:11434/v1) (passthrough)",
			"mine             ->  ollama (http://localhost:11434/v1) (passthrough; not in the catalogue: a text model)",
		]);
	});

	it("never shows a secret", () => {
		expect(describeRouting(config).join("\n")).not.toContain("sk-very-secret");
	});
});

describe("a mistake has its cure", () => {
	const URL = "http://a";
	it.each<[string, object, string]>([
		[
			"a field beside the one that has it",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, header_ms: 5 } } },
			'BACKENDS.gpu.header_ms: expected no such field; did you mean "timeouts.header_ms"?',
		],
		[
			"a field of a pool that is not set",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, max_requests: 5 } } },
			'BACKENDS.gpu.max_requests: expected no such field; did you mean "pool.max_requests"?',
		],
		...["api_key", "apiKey", "token"].map((field): [string, object, string] => [
			"another name of a key",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, [field]: "sk-1" } } },
			`BACKENDS.gpu.${field}: expected no such field: use "key", the name of a secret, as in "key": "ENGINE_KEY"`,
		]),
		[
			"a setting of another kind",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, num_ctx: 8192 } } },
			'BACKENDS.gpu.num_ctx: expected a backend of kind "ollama" beside it, found one of kind "openai"',
		],
		[
			"a model of a backend",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, model: "m" } } },
			"BACKENDS.gpu.model: expected no such field: it is a field of a target, as in ROUTES.m[0].model",
		],
		[
			"a backend that has a setting of routes",
			{ BACKENDS: { gpu: { kind: "openai", url: URL, retries: {} } } },
			"BACKENDS.gpu.retries: expected no such field: it is a setting of a route, as in ROUTES.m.retries",
		],
		[
			"a target that has a setting of routes",
			{ ROUTES: { m: [{ backend: "simulator", retries: {} }] } },
			'ROUTES.m[0].retries: expected no such field of a target: it is a setting of the route, as in {"targets": [{"backend": "NAME"}], "retries": …}',
		],
		[
			"a route that has a field of targets",
			{ ROUTES: { m: { targets: [{ backend: "simulator" }], weight: 2 } } },
			"ROUTES.m.weight: expected no such field: it is a field of a target, as in targets[0].weight",
		],
		[
			"a target with an unknown field, without those that users do not set",
			{ ROUTES: { m: [{ backend: "simulator", colour: 2 }] } },
			"ROUTES.m[0].colour: expected no such field, only backend, model, weight, headers, timeouts, continues, weights and loras",
		],
		...[
			["retry", "retries"],
			["passthru", "passthrough"],
		].map(([field = "", meant]): [string, object, string] => [
			"another form of a word",
			{ ROUTES: { m: { targets: [{ backend: "simulator" }], [field]: true } } },
			`ROUTES.m.${field}: expected no such field; did you mean "${meant}"?`,
		]),
		...(
			[
				[{ backend: "simulator", model: "x" }, "a target that is in no list"],
				[{ target: [{ backend: "simulator" }] }, 'an object without "targets", but with "target"'],
				[{ sticky: "session" }, 'an object without "targets"'],
				["simulator", "text"],
			] as const
		).map(([route, found]): [string, object, string] => [
			"a route without targets",
			{ ROUTES: { m: route } },
			`ROUTES.m: expected a list of targets such as [{"backend": "NAME"}], or an object with "targets", found ${found}`,
		]),
		...(
			[
				[{ ROUTES: { m: [{ backend: "ollama" }] } }, "ROUTES.m[0].backend", "ollama"],
				[
					{
						ROUTES: {
							m: { targets: [{ backend: "simulator" }], shadow: { name: "a", share: 1, backend: "gpu" } },
						},
					},
					"ROUTES.m.shadow.backend",
					"gpu",
				],
				[{ DEFAULT_BACKEND: "ollama" }, "DEFAULT_BACKEND", "ollama"],
				[{ JOBS: { backends: { gpu: { concurrency: 1 } } } }, "JOBS.backends.gpu", "gpu"],
			] as const
		).map(([variables, path, found]): [string, object, string] => [
			"a backend, and no BACKENDS",
			variables,
			`${path}: expected "simulator", found "${found}": BACKENDS is not set, so add this backend there`,
		]),
		[
			"the name of a backend instead of a target",
			{ ROUTES: { m: ["simulator"] } },
			'ROUTES.m[0]: expected a target such as {"backend": "NAME"}, found text',
		],
		[
			"a pattern where the ledger counts by model",
			{ LIMITS: { models: { "@cf/meta/*": { daily_neurons: 5 } } } },
			'LIMITS.models["@cf/meta/*"]: expected the id of one model, found spaces, a pattern or nothing',
		],
		[
			"a backend that does not exist",
			{ JOBS: { backends: { simulater: { concurrency: 5 } } } },
			'JOBS.backends.simulater: expected "simulator", found "simulater"; did you mean "simulator"?',
		],
		[
			"a number that is too large",
			{ SHARDS: "300" },
			"SHARDS: expected a whole number from 0 to 256, found 300",
		],
		["a number below 1", { OPEN_FILES: "-5" }, "OPEN_FILES: expected a whole number from 1, found -5"],
		["a text for a number", { SHARDS: "two" }, "SHARDS: expected a whole number from 0 to 256, found text"],
		[
			"a text for true",
			{ ROUTES: { m: [{ backend: "simulator", continues: "true" }] } },
			'ROUTES.m[0].continues: expected true, false, "prefill" or "vllm", found "true"',
		],
	])("%s", (_, env, problem) => {
		expect(mistakes(env)).toEqual([problem]);
	});
});
