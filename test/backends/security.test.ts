/**
 * What reaches an upstream, whatever a caller sends: the configured address and nothing else of the network, a path from
 * the backend's own list, and no header that the caller chose. Asked of every kind of backend, over every surface.
 */
import { describe, expect, it } from "vitest";
import type { BackendKind } from "../../src/backends/kinds.ts";
import { testGateway } from "../gateway.ts";
import { V4 } from "../http/access.ts";

const KEY = "sk-the-gateways-own";
/** Comes with every request, in every field that a caller might put it in. */
const MARK = "hostile-by-caller";

/** Paths below the configured address that a backend may ask for. A model's name is one segment, and no dots. */
const SEGMENT = String.raw`(?!\.{1,2}(?:/|$))[^/?#\\]+`;
const PATHS: Record<Exclude<BackendKind, "simulator">, RegExp> = {
	openai:
		/^\/(?:chat\/completions|completions|embeddings|rerank|images\/(?:generations|edits)|audio\/(?:speech|transcriptions))$/,
	anthropic: /^\/v1\/messages$/,
	gemini: new RegExp(String.raw`^/v1beta/models/${SEGMENT}:\w+(?:\?alt=sse)?$`),
	tei: /^\/(?:embed|rerank|predict|info)$/,
	ollama: /^\/api\/(?:chat|generate|embed|tags|show)$/,
	"workers-ai": new RegExp(`^/(?:run(?:/${SEGMENT})+|v1/chat/completions|v1/completions)$`),
	local:
		/^\/model:[^/?#]+\/(?:v1\/(?:chat\/completions|completions|embeddings|rerank|audio\/speech)|(?:de)?tokenize)$/,
	cog: /^\/(?:predictions(?:\/[\w-]+\/cancel)?|openapi\.json|health-check)$/,
};
const KINDS = Object.keys(PATHS) as (keyof typeof PATHS)[];

const HEADERS = new Set([
	"accept",
	"anthropic-version",
	"authorization",
	"content-type",
	"prefer",
	"x-ganglion-hop",
	"x-api-key",
	"x-goog-api-key",
	"x-configured",
]);

/** Names of models that would be a way out, where they were put into an address. */
const MODELS = [
	"..",
	"../../tokens",
	"a/../../b",
	"a/..",
	"a/./b",
	"a//b",
	"//evil.example/a",
	"http://evil.example/a",
	"a@evil.example",
	"a?key=1",
	"a#b",
	"a%2f..%2f..%2fb",
	"a%00b",
	"a\\..\\b",
	"a:streamGenerateContent?x=",
	"a\r\nhost: evil.example",
	"@cf/a/../../../../accounts",
	"models/../b",
];

const CALLER_HEADERS = {
	accept: MARK,
	"anthropic-beta": MARK,
	"anthropic-version": MARK,
	"api-key": MARK,
	"cf-access-client-secret": MARK,
	"cf-aig-authorization": MARK,
	"cf-connecting-ip": "203.0.113.9",
	connection: `close, ${MARK}`,
	cookie: MARK,
	forwarded: `host=${MARK}`,
	host: "evil.example",
	"keep-alive": MARK,
	"openai-organization": MARK,
	"proxy-authorization": MARK,
	te: MARK,
	upgrade: MARK,
	"x-api-key": MARK,
	"x-configured": MARK,
	"x-forwarded-host": "evil.example",
	"x-ganglion-backend": MARK,
	"x-goog-api-key": MARK,
	"x-original-url": "http://evil.example/",
};

interface Seen {
	url: URL;
	init: RequestInit;
	headers: Headers;
}

/** A gateway whose every model is behind one backend, and all that it asked for. */
function facing(kind: keyof typeof PATHS, reply: () => Response = () => new Response("{}", { status: 500 })) {
	const seen: Seen[] = [];
	const gateway = testGateway({
		vars: {
			BACKENDS: {
				engine: {
					kind,
					url: "https://engine.example:8443/base",
					key: "KEY",
					headers: { "x-configured": "operator" },
				},
			},
			ROUTES: { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } },
			KEY,
		},
		fetch: async (input, init = {}) => {
			seen.push({ url: new URL(String(input)), init, headers: new Headers(init.headers) });
			return reply();
		},
	});
	return { ...gateway, seen };
}

type App = ReturnType<typeof facing>["app"];

const messages = [{ role: "user", content: "Hi" }];
const json = (url: string, body: unknown, headers: Record<string, string> = {}) => [
	url,
	{
		method: "POST",
		body: JSON.stringify(body),
		headers: { ...CALLER_HEADERS, "content-type": "application/json", ...headers },
	},
];

/** Every way to name a model, and to be hostile beside it. */
const SURFACES: Record<string, (model: string) => unknown[]> = {
	"REST, in the path": (model) =>
		json(`${V4}/accounts/local/ai/run/${encodeURIComponent(model)}`, {
			messages,
			url: "http://evil.example",
		}),
	"REST, in the path as it is": (model) => json(`${V4}/accounts/local/ai/run/${model}`, { messages }),
	"REST, in the body": (model) =>
		json(`${V4}/accounts/local/ai/run`, { model, input: { messages, stream: true } }),
	"the binding's wire": (model) =>
		json(
			`${V4}/accounts/local/ai/run/proxy`,
			{ messages },
			{ "x-forwarded": "https://workers-binding.ai/run?version=3", "cf-consn-model-id": encodeURI(model) },
		),
	chat: (model) =>
		json(`${V4}/accounts/local/ai/v1/chat/completions`, {
			model,
			messages,
			base_url: "http://evil.example",
			extra_headers: { host: "evil.example" },
			metadata: { a: "b" },
		}),
	completions: (model) => json(`${V4}/accounts/local/ai/v1/completions`, { model, prompt: "Hi" }),
	embeddings: (model) => json(`${V4}/accounts/local/ai/v1/embeddings`, { model, input: "Hi" }),
	responses: (model) => json(`${V4}/accounts/local/ai/v1/responses`, { model, input: "Hi" }),
	messages: (model) =>
		json(`${V4}/accounts/local/ai/v1/messages`, { model, max_tokens: 10, messages, betas: [MARK] }),
	images: (model) => json(`${V4}/accounts/local/ai/v1/images/generations`, { model, prompt: "Hi" }),
	speech: (model) => json(`${V4}/accounts/local/ai/v1/audio/speech`, { model, input: "Hi", voice: "a" }),
};

const call = async (app: App, request: unknown[]) => {
	const [url, init] = request as [string, RequestInit];
	try {
		await app.request(url, init);
	} catch (error) {
		// What is no address, or no header, does not even get to the gateway.
		expect(error).toBeInstanceOf(TypeError);
	}
};

function check(kind: keyof typeof PATHS, { url, init, headers }: Seen): void {
	expect(url.origin).toBe("https://engine.example:8443");
	expect(url.username + url.password + url.hash).toBe("");
	expect(url.pathname.startsWith("/base/"), url.href).toBe(true);
	expect(`${url.pathname.slice("/base".length)}${url.search}`).toMatch(PATHS[kind]);
	expect(["GET", "POST"]).toContain(init.method);
	expect(init.redirect).toBe("manual");
	for (const [name, value] of headers) {
		// Names of features, which Anthropic's service checks.
		if (kind === "anthropic" && name === "anthropic-beta") continue;
		expect(HEADERS, name).toContain(name);
		expect(value).not.toMatch(/hostile|evil|203\.0\.113/);
	}
	expect(headers.get("x-configured")).toBe("operator");
}

describe.each(KINDS)("%s", (kind) => {
	it.each(Object.entries(SURFACES))("is reached at its own address alone, over %s", async (_, surface) => {
		const { app, seen } = facing(kind);
		for (const model of MODELS) await call(app, surface(model));
		for (const one of seen) check(kind, one);
	});

	it("receives some of these calls", async () => {
		const { app, seen } = facing(kind);
		for (const surface of Object.values(SURFACES)) await call(app, surface("plain-model"));
		expect(seen.length).toBeGreaterThan(0);
		for (const one of seen) check(kind, one);
	});

	it.each([301, 302, 303, 307, 308])("is not followed elsewhere, with %i", async (status) => {
		const { app, seen } = facing(
			kind,
			() => new Response(null, { status, headers: { location: "https://evil.example/take" } }),
		);
		for (const surface of ["chat", "embeddings"]) {
			const [url, init] = (SURFACES[surface]?.("plain-model") ?? []) as [string, RequestInit];
			const response = await app.request(url, init);
			expect(response.status).toBeGreaterThanOrEqual(400);
			const told = await response.text();
			expect(told).not.toContain("evil.example");
			expect(told).not.toContain(KEY);
		}
		for (const one of seen) check(kind, one);
	});

	it("has its key in no answer, whatever the upstream sends", async () => {
		const { app } = facing(kind, () =>
			Response.json(
				{ error: { message: `Incorrect API key: ${KEY}`, type: "invalid_request_error" }, detail: KEY },
				{ status: 400 },
			),
		);
		for (const surface of Object.values(SURFACES)) {
			const [url, init] = surface("plain-model") as [string, RequestInit];
			const response = await app.request(url, init);
			expect(await response.text()).not.toContain(KEY);
			for (const [, value] of response.headers) expect(value).not.toContain(KEY);
		}
	});
});
