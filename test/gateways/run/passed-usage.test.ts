/** The usage of requests that a gateway passes to a provider: in logs, in the export, and in spend limits. */
import { env } from "cloudflare:workers";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it, vi } from "vitest";
import { FairLine } from "../../../src/core/fair-line.ts";
import type { FlushServices } from "../../../src/core/flush-schedule.ts";
import { GatewayLimits } from "../../../src/gateways/client/gateway-limits.ts";
import { OtelExporter } from "../../../src/gateways/client/otel-exporter.ts";
import { OPENAI_KEY } from "../../clients/providers/openai.ts";
import { KEYS } from "../../clients/providers/routes.ts";
import response from "../../fixtures/openai/openai/response.json";
import { completion, DONE, delta, events, finish, liveEvents, upstream, usage } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "../../surfaces/gateway/gateway-settings.ts";
import { provide } from "../../surfaces/gateway/scripted-providers.ts";

const COLLECTOR = "https://collector.example/v1/traces";
const NOW = Date.parse("2026-11-21T12:00:00Z");

interface LogJson {
	model: string;
	model_type: string | null;
	usage_estimated: boolean;
	tokens_in: number | null;
	tokens_out: number | null;
	cost?: number | null;
	cached: boolean;
}

type Reply = (request: Request) => Response | Promise<Response>;

/** A gateway `mine` in front of the replying provider. */
async function world(reply: Reply = provide, settings: object = {}, vars: Record<string, unknown> = {}) {
	const provider = upstream((request) =>
		request.url.startsWith(COLLECTOR.slice(0, -6)) ? new Response() : reply(request),
	);
	const { account, app, createToken, send, services } = closedGateway({ vars, fetch: provider.fetch });
	const works: Promise<unknown>[] = [];
	const background: FlushServices & { failed(cause: unknown): void } = {
		now: () => NOW,
		wait: async () => {},
		waitUntil: (work) => void works.push(work),
		failed: (cause) => expect.fail(String(cause)),
	};
	services.gatewayLimits = new GatewayLimits({
		object: (name) => env.GATEWAY.getByName(name),
		...background,
	});
	services.otelExporter = new OtelExporter({
		...background,
		exportLine: new FairLine({ name: "exports", max: 10, now: () => 0 }),
	});
	const token = await createToken(["Workers AI Write"]);
	await send("/ai-gateway/gateways", token, json("POST", { ...GATEWAY_SETTINGS, ...settings, id: "mine" }));
	const settled = async () => {
		for (let done = -1; done < works.length; ) {
			done = works.length;
			await Promise.all(works);
		}
	};
	const url = (path: string) => `http://gateway/v1/${account}/mine/${path}`;
	let latest: string | null = null;
	const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
		const response = await app.request(new Request(input, init));
		latest = response.headers.get("cf-aig-log-id");
		return response;
	};
	return {
		account,
		services,
		token,
		requests: provider.requests,
		settled,
		url,
		fetch,
		/** With a key of the caller. */
		post: (
			path: string,
			body: unknown,
			{ headers = {}, ...init }: { headers?: object; signal?: AbortSignal } = {},
		) =>
			fetch(url(path), {
				...json("POST", body),
				...init,
				headers: {
					"content-type": "application/json",
					authorization: `Bearer ${OPENAI_KEY}`,
					"cf-aig-authorization": `Bearer ${token}`,
					...headers,
				},
			}),
		/** Waits for the log of the latest request. */
		log: () =>
			vi.waitFor(
				async () => {
					await settled();
					const response = await send(`/ai-gateway/gateways/mine/logs/${latest}`, ADMIN);
					const { result } = await response.json<{ result: LogJson | null }>();
					if (!result) throw new Error("there is no log");
					// An unknown cost is absent.
					return { ...result, cost: result.cost ?? null };
				},
				{ timeout: 30_000 },
			),
		store: async (provider_slug: string, secret: string) =>
			send("/ai-gateway/gateways/mine/provider_configs", token, json("POST", { provider_slug, secret })),
	};
}
type World = Awaited<ReturnType<typeof world>>;

const messages = [{ role: "user" as const, content: "My name is Alice. What is my name?" }];
const CHAT = { model: "gpt-5", messages };
/** Dollars for 3 and 2 tokens of `gpt-5`: 1.25 and 10 per million. */
const GPT_5_COST = (3 * 1.25 + 2 * 10) / 1e6;

const counted = (tokens_in: number, tokens_out: number, dollars: number | null) => ({
	tokens_in,
	tokens_out,
	cost: dollars === null ? null : expect.closeTo(dollars, 10),
});

/** Documented answers on paths that the scripted provider does not have. */
const openai: Reply = async (request) => {
	const { pathname } = new URL(request.url);
	if (pathname === "/v1/embeddings")
		return Response.json({
			object: "list",
			data: [{ object: "embedding", index: 0, embedding: [0.5, -0.5] }],
			model: "text-embedding-3-small",
			usage: { prompt_tokens: 8, total_tokens: 8 },
		});
	if (pathname !== "/v1/responses") return provide(request);
	const { stream } = await request.json<{ stream?: boolean }>();
	if (!stream) return Response.json(response);
	const event = (type: string, fields: object) =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
	const body =
		event("response.created", { response: { ...response, status: "in_progress", output: [], usage: null } }) +
		event("response.completed", { response });
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

interface Keys {
	key: string;
	headers: Record<string, string>;
}

const openaiSdk = ({ url, fetch }: World, { key, headers }: Keys) =>
	new OpenAI({ baseURL: url("openai"), apiKey: key, defaultHeaders: headers, fetch, maxRetries: 0 });
const anthropicSdk = ({ url, fetch }: World, { key, headers }: Keys) =>
	new Anthropic({ baseURL: url("anthropic"), apiKey: key, defaultHeaders: headers, fetch, maxRetries: 0 });
const googleSdk = ({ url, fetch }: World, { key, headers }: Keys) =>
	new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url("google-ai-studio"), headers, fetch } });

const CLAUDE = { model: "claude-sonnet-4-6", max_tokens: 100, messages };
const GEMINI = { model: "gemini-3-flash-preview", contents: "My name is Alice. What is my name?" };
const RESPONSES_COST = (6 * 1.25 + 30 * 0.125 + 87 * 10) / 1e6;
/** 27 tokens, of which 7 were read from the cache. */
const CLAUDE_COST = (20 * 3 + 7 * 0.3 + 9 * 15) / 1e6;

/** Calls of SDKs: the provider, its key, and the log. */
const CALLS: [
	name: string,
	provider: string,
	key: string,
	call: (at: World, keys: Keys) => Promise<unknown>,
	log: object,
][] = [
	[
		"chat.completions.create",
		"openai",
		OPENAI_KEY,
		(at, keys) => openaiSdk(at, keys).chat.completions.create(CHAT),
		{ model: "gpt-5", model_type: "Text Generation", ...counted(20, 9, (20 * 1.25 + 9 * 10) / 1e6) },
	],
	[
		"chat.completions.stream with usage",
		"openai",
		OPENAI_KEY,
		(at, keys) =>
			openaiSdk(at, keys)
				.chat.completions.stream({ ...CHAT, stream_options: { include_usage: true } })
				.finalMessage(),
		{ model: "gpt-5", ...counted(20, 9, (20 * 1.25 + 9 * 10) / 1e6) },
	],
	[
		"chat.completions.stream",
		"openai",
		OPENAI_KEY,
		(at, keys) => openaiSdk(at, keys).chat.completions.stream(CHAT).finalMessage(),
		{ model: "gpt-5", tokens_in: null, tokens_out: null, cost: null },
	],
	[
		"responses.create",
		"openai",
		OPENAI_KEY,
		(at, keys) => openaiSdk(at, keys).responses.create({ model: "gpt-5", input: "Hi" }),
		{ model: "gpt-5", ...counted(36, 87, RESPONSES_COST) },
	],
	[
		"responses.stream",
		"openai",
		OPENAI_KEY,
		async (at, keys) => {
			const stream = await openaiSdk(at, keys).responses.create({
				model: "gpt-5",
				input: "Hi",
				stream: true,
			});
			for await (const _ of stream);
		},
		{ model: "gpt-5", ...counted(36, 87, RESPONSES_COST) },
	],
	[
		"embeddings.create",
		"openai",
		OPENAI_KEY,
		(at, keys) =>
			openaiSdk(at, keys).embeddings.create({
				model: "text-embedding-3-small",
				input: "Hi",
				encoding_format: "float",
			}),
		{ model: "text-embedding-3-small", ...counted(8, 0, null) },
	],
	[
		"messages.create",
		"anthropic",
		KEYS.CLAUDE_KEY,
		(at, keys) => anthropicSdk(at, keys).messages.create(CLAUDE),
		{ model: "claude-sonnet-4-6", model_type: "Text Generation", ...counted(27, 9, CLAUDE_COST) },
	],
	[
		"messages.stream",
		"anthropic",
		KEYS.CLAUDE_KEY,
		(at, keys) => anthropicSdk(at, keys).messages.stream(CLAUDE).finalMessage(),
		{ model: "claude-sonnet-4-6", ...counted(27, 9, CLAUDE_COST) },
	],
	[
		"models.generateContent",
		"google-ai-studio",
		KEYS.GEMINI_KEY,
		(at, keys) => googleSdk(at, keys).models.generateContent(GEMINI),
		{
			model: "gemini-3-flash-preview",
			model_type: "Text Generation",
			...counted(20, 14, (20 * 0.5 + 14 * 3) / 1e6),
		},
	],
	[
		"models.generateContentStream",
		"google-ai-studio",
		KEYS.GEMINI_KEY,
		async (at, keys) => {
			for await (const _ of await googleSdk(at, keys).models.generateContentStream(GEMINI));
		},
		{ model: "gemini-3-flash-preview", ...counted(20, 14, (20 * 0.5 + 14 * 3) / 1e6) },
	],
];

describe("the log of a call of an SDK", () => {
	it.each(CALLS)(
		"has its tokens and its cost, with the caller's key: %s",
		async (_, provider, key, call, log) => {
			const at = await world(openai);
			await call(at, { key, headers: { "cf-aig-authorization": `Bearer ${at.token}` } });
			expect(await at.log()).toMatchObject({ provider, byok: true, ...log });
		},
	);

	it.each(CALLS)(
		"has its tokens and its cost, with a stored key: %s",
		async (_, provider, key, call, log) => {
			const at = await world(openai);
			await at.store(provider, key);
			await call(at, { key: at.token, headers: {} });
			expect(await at.log()).toMatchObject({ provider, byok: true, ...log });
		},
	);
});

/** Settings with one spend rule of this many dollars. */
const limited = (limit: number, fields: object = {}) => ({
	spend_limits: { enabled: true, rules: [{ id: "r", limitType: "cost", limit, window: 60, ...fields }] },
});

const answer = () => Response.json(completion("Hello"));

describe("the cost of a request", () => {
	it("is the caller's, if there is one, also for tokens of a cache", async () => {
		const at = await world();
		const cost = { per_token_in: 1, per_token_out: 10, per_cache_read_token: 0.5 };
		const headers = {
			"x-api-key": KEYS.CLAUDE_KEY,
			"anthropic-version": "2023-06-01",
			"cf-aig-custom-cost": JSON.stringify(cost),
		};
		await (await at.post("anthropic/v1/messages", CLAUDE, { headers })).text();
		expect(await at.log()).toMatchObject(counted(27, 9, 20 + 7 * 0.5 + 9 * 10));
	});

	it("has a price of its own for tokens that were written to a cache", async () => {
		const usage = {
			input_tokens: 10,
			cache_creation_input_tokens: 5,
			cache_read_input_tokens: 100,
			output_tokens: 2,
		};
		const at = await world(() => Response.json({ type: "message", model: "claude-x", content: [], usage }));
		const cost = { per_token_in: 1, per_token_out: 10, per_cache_write_token: 2 };
		const headers = { "cf-aig-custom-cost": JSON.stringify(cost) };
		await (await at.post("anthropic/v1/messages", CLAUDE, { headers })).text();
		expect(await at.log()).toMatchObject(counted(115, 2, 10 + 100 + 5 * 2 + 2 * 10));
	});

	it("is that of the model that the request names", async () => {
		const at = await world(() => Response.json({ ...completion("Hello"), model: "gpt-4.1" }));
		await (await at.post("openai/chat/completions", CHAT)).text();
		expect(await at.log()).toMatchObject({ model: "gpt-5", ...counted(3, 2, GPT_5_COST) });
	});

	it("is that of the model that answered, if the request names none", async () => {
		const at = await world(() => Response.json({ ...completion("Hello"), model: "gpt-5-2025-08-07" }));
		await (await at.post("openai/responses", { prompt: { id: "pmpt_1" } })).text();
		expect(await at.log()).toMatchObject({ model: "gpt-5-2025-08-07", ...counted(3, 2, GPT_5_COST) });
	});

	it("is that of the model that answered, if the request names an unknown one", async () => {
		const at = await world(() => Response.json({ ...completion("Hello"), model: "gpt-5-2025-08-07" }));
		await (await at.post("openai/chat/completions", { ...CHAT, model: "a-router" })).text();
		expect(await at.log()).toMatchObject({ model: "a-router", ...counted(3, 2, GPT_5_COST) });
	});

	it("is unknown for a provider without prices, and the operator may set one", async () => {
		const MODELS = {
			"custom-acme/large": {
				task: "Text Generation",
				prices: [
					{ unit: "per M input tokens", neurons: 1_000_000 },
					{ unit: "per M output tokens", neurons: 2_000_000 },
				],
			},
		};
		const at = await world(answer, {}, { MODELS, AI_GATEWAY: { allow_private_addresses: true } });
		const custom = { name: "Acme", slug: "acme", base_url: "http://acme.example/api", enable: true };
		await at.fetch(
			new Request(`http://gateway/client/v4/accounts/${at.account}/ai-gateway/custom-providers`, {
				...json("POST", custom),
				headers: { "content-type": "application/json", authorization: `Bearer ${at.token}` },
			}),
		);
		await (await at.post("custom-acme/v1/chat/completions", { ...CHAT, model: "small" })).text();
		expect(await at.log()).toMatchObject({ provider: "custom-acme", model: "small", ...counted(3, 2, null) });
		await (await at.post("custom-acme/v1/chat/completions", { ...CHAT, model: "large" })).text();
		expect(await at.log()).toMatchObject({ model: "large", ...counted(3, 2, (3 + 2 * 2) * 0.000_011) });
		await (await at.post("compat/chat/completions", { ...CHAT, model: "custom-acme/large" })).text();
		expect(await at.log()).toMatchObject({ model: "large", ...counted(3, 2, (3 + 2 * 2) * 0.000_011) });
	});

	it("is the same for a model that runs through the pipeline with the account's key", async () => {
		const at = await world(answer, limited(1.5 * GPT_5_COST));
		await at.store("openai", OPENAI_KEY);
		const call = async (path: string, body: object, headers: object) => {
			const response = await at.fetch(`http://gateway${path}`, {
				...json("POST", body),
				headers: { "content-type": "application/json", authorization: `Bearer ${at.token}`, ...headers },
			});
			await response.text();
			await at.settled();
			return response.status;
		};
		const compat = `/v1/${at.account}/mine/compat/chat/completions`;
		expect(await call(compat, { ...CHAT, model: "openai/gpt-5" }, {})).toBe(200);
		expect(await at.log()).toMatchObject(counted(3, 2, GPT_5_COST));
		const run = `/client/v4/accounts/${at.account}/ai/run/openai/gpt-5`;
		expect(await call(run, { messages }, { "cf-aig-gateway-id": "mine" })).toBe(200);
		expect(await at.log()).toMatchObject(counted(3, 2, GPT_5_COST));
		expect(await call(compat, { ...CHAT, model: "openai/gpt-5" }, {})).toBe(429);
	});

	it("is no neurons of the account", async () => {
		const at = await world(answer);
		await (await at.post("openai/chat/completions", CHAT)).text();
		expect(await at.log()).toMatchObject(counted(3, 2, GPT_5_COST));
		const { rows } = await at.services.ledgers.of(at.account).usage({ by: ["model"] });
		expect(rows).toEqual([]);
	});
});

describe("the usage is absent", () => {
	const none = { tokens_in: null, tokens_out: null, cost: null };

	it.each<[string, () => Response]>([
		["a refusal", () => Response.json(completion("Hello"), { status: 400 })],
		["malformed JSON", () => new Response('{"usage":{', { headers: { "content-type": "application/json" } })],
		["bytes of another type", () => new Response("{}", { headers: { "content-type": "audio/mpeg" } })],
		["nothing", () => new Response(null, { status: 204 })],
	])("from %s, whose bytes are unchanged", async (_, reply) => {
		const at = await world(reply);
		const response = await at.post("openai/chat/completions", CHAT);
		expect(response.status).toBe(reply().status);
		expect(await response.text()).toBe(await reply().text());
		expect(await at.log()).toMatchObject(none);
	});

	it("from an earlier answer that is read again", async () => {
		const at = await world(answer);
		const headers = { authorization: `Bearer ${OPENAI_KEY}`, "cf-aig-authorization": `Bearer ${at.token}` };
		await (await at.fetch(at.url("openai/chat/completions/chatcmpl-1"), { headers })).text();
		expect(await at.log()).toMatchObject(none);
	});

	it("and 0 for an answer of the cache", async () => {
		const at = await world(answer, { cache_ttl: 60 });
		for (const status of ["MISS", "HIT"]) {
			const response = await at.post("openai/chat/completions", CHAT);
			expect(response.headers.get("cf-aig-cache-status")).toBe(status);
			await response.text();
			await at.log();
		}
		expect(await at.log()).toMatchObject({ cached: true, ...counted(0, 0, 0) });
	});
});

describe("a stream", () => {
	const START =
		'data: {"type":"message_start","message":{"model":"claude-sonnet-4-6","usage":{"input_tokens":20,"output_tokens":1}}}\n\n';

	it("arrives as the provider sends it, cut at any byte", async () => {
		const live = liveEvents();
		const at = await world(() => live.response);
		const response = await at.post("anthropic/v1/messages", { ...CLAUDE, stream: true });
		const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
		const end = 'data: {"type":"message_delta","usage":{"output_tokens":9}}\n\n';
		for (const piece of [START.slice(0, 50), START.slice(50), end.slice(0, 8), end.slice(8)]) {
			live.send(piece);
			expect(await reader?.read()).toEqual({ done: false, value: piece });
		}
		live.end();
		expect(await reader?.read()).toMatchObject({ done: true });
		expect(await at.log()).toMatchObject(counted(20, 9, (20 * 3 + 9 * 15) / 1e6));
	});

	it("whose last event has no end has its counts", async () => {
		const body = `data: ${JSON.stringify({ usage: (completion("") as { usage: object }).usage })}`;
		const at = await world(() => new Response(body, { headers: { "content-type": "text/event-stream" } }));
		expect(await (await at.post("openai/chat/completions", CHAT)).text()).toBe(body);
		expect(await at.log()).toMatchObject(counted(3, 2, GPT_5_COST));
	});

	it("is sent if its usage cannot be read, which is logged once", async () => {
		const live = liveEvents();
		const at = await world(() => live.response);
		const logged: string[] = [];
		at.services.log = ({ key }) => void logged.push(key);
		// Gateways with the same variables share the catalogue.
		using find = vi.spyOn(at.services.catalog, "find");
		find.mockImplementation((id) => {
			if (id.startsWith("openai/")) throw new TypeError("broken");
			return undefined;
		});
		const event = `data: ${JSON.stringify(completion("Hello"))}\n\n`;
		const response = await at.post("openai/chat/completions", { ...CHAT, stream: true });
		for (let nth = 0; nth < 3; nth++) live.send(event);
		live.end();
		expect(await response.text()).toBe(event.repeat(3));
		expect(logged).toEqual(["executionFailed"]);
		expect(await at.log()).toMatchObject({ tokens_in: null, tokens_out: null, cost: null });
	});

	it.each(["disconnects", "cancels"])("whose caller %s has the counts until then", async (way) => {
		const live = liveEvents();
		const at = await world(() => live.response);
		const caller = new AbortController();
		const response = await at.post(
			"anthropic/v1/messages",
			{ ...CLAUDE, stream: true },
			{ signal: caller.signal },
		);
		const reader = response.body?.getReader();
		live.send(START);
		await reader?.read();
		if (way === "disconnects") caller.abort();
		else await reader?.cancel();
		expect(await at.log()).toMatchObject(counted(20, 1, (20 * 3 + 15) / 1e6));
	});

	it("that breaks off has the counts until then", async () => {
		const live = liveEvents();
		const at = await world(() => live.response);
		const response = await at.post("anthropic/v1/messages", { ...CLAUDE, stream: true });
		live.send(START);
		const reader = response.body?.getReader();
		await reader?.read();
		live.fail(new Error("connection lost"));
		await expect(reader?.read()).rejects.toThrow();
		expect(await at.log()).toMatchObject({ success: false, ...counted(20, 1, (20 * 3 + 15) / 1e6) });
	});
});

describe("a stream without counts, in a gateway that estimates", () => {
	const ESTIMATES = { estimate_usage: true };
	/** About 10 tokens. */
	const SENTENCE = "The quick brown fox jumps over the lazy dog. ";
	const CHUNKS = Array.from({ length: 20 }, () => delta(SENTENCE));
	const stream = { ...CHAT, stream: true };
	const around = (tokens: number) => ({
		asymmetricMatch: (actual: unknown): boolean =>
			typeof actual === "number" && Math.abs(actual / tokens - 1) < 0.25,
	});
	/** OpenAI counts 17 tokens of the request. */
	const ESTIMATED = {
		usage_estimated: true,
		tokens_in: around(17),
		tokens_out: around(200),
		cost: around((17 * 1.25 + 200 * 10) / 1e6),
	};

	it("has estimated tokens and a cost, which spend limits count, and its bytes are unchanged", async () => {
		const reply = () => events(...CHUNKS, finish(), DONE);
		const at = await world(reply, { ...ESTIMATES, ...limited(0.001) });
		const response = await at.post("openai/chat/completions", stream);
		expect(await response.text()).toBe(await reply().text());
		expect(await at.log()).toMatchObject(ESTIMATED);
		expect((await at.post("openai/chat/completions", stream)).status).toBe(429);
	});

	it("has the counts of the provider, if it sends them", async () => {
		const at = await world(() => events(...CHUNKS, finish(), usage(), DONE), ESTIMATES);
		await (await at.post("openai/chat/completions", stream)).text();
		expect(await at.log()).toMatchObject({ usage_estimated: false, ...counted(3, 2, GPT_5_COST) });
	});

	it("has those of the part that was sent before the caller disconnected", async () => {
		const live = liveEvents();
		const at = await world(() => live.response, ESTIMATES);
		const caller = new AbortController();
		const response = await at.post("openai/chat/completions", stream, { signal: caller.signal });
		const reader = response.body?.getReader();
		live.send(CHUNKS.slice(0, 10).join(""));
		await reader?.read();
		caller.abort();
		expect(await at.log()).toMatchObject({
			...ESTIMATED,
			tokens_out: around(100),
			cost: around((17 * 1.25 + 100 * 10) / 1e6),
		});
	});

	it("and that runs through the pipeline is labelled, too, and by default", async () => {
		const at = await world(() => events(...CHUNKS, finish(), DONE));
		await at.store("openai", OPENAI_KEY);
		const headers = { authorization: `Bearer ${at.token}` };
		const body = { ...stream, model: "openai/gpt-5" };
		await (await at.post("compat/chat/completions", body, { headers })).text();
		expect(await at.log()).toMatchObject({ usage_estimated: true, tokens_out: around(200) });
	});

	it("has none without text", async () => {
		const at = await world(() => events(DONE), ESTIMATES);
		await (await at.post("openai/chat/completions", stream)).text();
		expect(await at.log()).toMatchObject({ usage_estimated: false, tokens_in: null, tokens_out: null });
	});
});

describe("a spend limit", () => {
	it("refuses the request after the one that spent it", async () => {
		const at = await world(answer, limited(1.5 * GPT_5_COST));
		const status = async (body: object = CHAT, path = "openai/chat/completions") => {
			const response = await at.post(path, body);
			await response.text();
			await at.settled();
			return response.status;
		};
		expect([await status(), await status()]).toEqual([200, 200]);
		const refused = await at.post("openai/chat/completions", CHAT);
		expect(refused.status).toBe(429);
		expect(await refused.json()).toMatchObject({ internalCode: 2045 });
		expect(at.requests).toHaveLength(2);
	});

	it("counts the cost of the caller", async () => {
		const at = await world(answer, limited(5));
		const headers = { "cf-aig-custom-cost": '{"per_token_in":1,"per_token_out":1}' };
		const statuses = [];
		for (let nth = 0; nth < 2; nth++) {
			const response = await at.post("openai/chat/completions", CHAT, { headers });
			await response.text();
			await at.settled();
			statuses.push(response.status);
		}
		expect(statuses).toEqual([200, 429]);
	});

	it("counts a stream at its end, and applies to a model that the path names", async () => {
		const model = { mode: "filter", values: ["gemini-3-flash-preview"] };
		const at = await world(provide, limited(30, { model }));
		const headers = {
			"x-goog-api-key": KEYS.GEMINI_KEY,
			"cf-aig-custom-cost": '{"per_token_in":1,"per_token_out":1}',
		};
		const body = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
		const path = "google-ai-studio/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse";
		// The provider's SDK has its key in this header, and no bearer token.
		const call = () => at.post(path, body, { headers: { ...headers, authorization: "" } });
		const [first, second] = [await call(), await call()];
		expect([first.status, second.status]).toEqual([200, 200]);
		for (const response of [first, second]) await response.text();
		await at.settled();
		expect((await call()).status).toBe(429);
	});
});

describe("an attempt that is late by the caller's timeout", () => {
	const headers = {
		"cf-aig-custom-cost": '{"per_token_in":1,"per_token_out":1}',
		"cf-aig-request-timeout": "300",
	};
	/** The provider answers only the calls from this one on. An attempt's time passes when the provider has its call. */
	async function slow(answered: number, settings: object) {
		let calls = 0;
		const reply = () => (++calls >= answered ? answer() : new Promise<Response>(() => {}));
		const at = await world(reply, settings);
		let due = 0;
		at.services.wait = async (ms) => {
			if (ms !== 300) return;
			const call = ++due;
			await vi.waitFor(() => expect(at.requests.length).toBeGreaterThanOrEqual(call));
		};
		const status = async (path: string, body: unknown, added: object = {}) => {
			const response = await at.post(path, body, { headers: { ...headers, ...added } });
			await response.text();
			await at.settled();
			return response.status;
		};
		return { at, status };
	}

	it("counts in a spend limit", async () => {
		const { at, status } = await slow(9, limited(5));
		expect(await status("openai/chat/completions", CHAT)).toBe(504);
		expect(await at.log()).toMatchObject({ usage_estimated: true, tokens_out: 0, cost: expect.any(Number) });
		expect(await status("openai/chat/completions", CHAT)).toBe(429);
		expect(at.requests).toHaveLength(1);
	});

	it("counts if it runs through the pipeline", async () => {
		const { at, status } = await slow(9, limited(5));
		await at.store("openai", OPENAI_KEY);
		const own = { authorization: `Bearer ${at.token}` };
		const body = { ...CHAT, model: "openai/gpt-5" };
		expect(await status("compat/chat/completions", body, own)).toBe(504);
		expect(await status("compat/chat/completions", body, own)).toBe(429);
		expect(at.requests).toHaveLength(1);
	});

	it("counts beside the attempt that follows it", async () => {
		const { at, status } = await slow(2, limited(1_000));
		const retried = { "cf-aig-max-attempts": "2" };
		expect(await status("openai/chat/completions", CHAT, retried)).toBe(200);
		const { tokens_in, tokens_out, cost } = await at.log();
		// OpenAI counts 17 tokens of the request; the answer has 3 and 2.
		expect(tokens_in).toBeGreaterThan(3 + 10);
		expect([tokens_out, cost]).toEqual([2, (tokens_in ?? 0) + 2]);
	});

	it("counts before the step that follows it", async () => {
		const { at, status } = await slow(9, limited(5));
		const step = { provider: "openai", endpoint: "chat/completions", query: CHAT };
		const own = { headers: { authorization: `Bearer ${OPENAI_KEY}`, ...headers } };
		expect(
			await status("", [
				{ ...step, ...own },
				{ ...step, ...own },
			]),
		).toBe(429);
		expect(at.requests).toHaveLength(1);
	});
});

describe("the export of a request", () => {
	it("has its tokens and its cost", async () => {
		const at = await world(answer, { otel: [{ url: COLLECTOR }] });
		await (await at.post("openai/chat/completions", CHAT)).text();
		await at.log();
		const bodies = await Promise.all(
			["/v1/traces", "/v1/metrics"].map((path) => at.requests.find(({ url }) => url.endsWith(path))?.json()),
		);
		const [traces, metrics] = bodies as [
			{ resourceSpans: { scopeSpans: { spans: { attributes: { key: string; value: object }[] }[] }[] }[] },
			{
				resourceMetrics: {
					scopeMetrics: { metrics: { name: string; histogram: { dataPoints: { sum: number }[] } }[] }[];
				}[];
			},
		];
		const attributes = traces.resourceSpans[0]?.scopeSpans[0]?.spans[0]?.attributes ?? [];
		expect(Object.fromEntries(attributes.map(({ key, value }) => [key, value]))).toMatchObject({
			"gen_ai.request.model": { stringValue: "gpt-5" },
			"gen_ai.model.provider": { stringValue: "openai" },
			"gen_ai.usage.input_tokens": { intValue: "3" },
			"gen_ai.usage.output_tokens": { intValue: "2" },
			"gen_ai.usage.cost": { doubleValue: expect.closeTo(GPT_5_COST, 10) },
		});
		const tokens = metrics.resourceMetrics[0]?.scopeMetrics[0]?.metrics.find(
			({ name }) => name === "gen_ai.client.token.usage",
		);
		expect(tokens?.histogram.dataPoints.map(({ sum }) => sum)).toEqual([3, 2]);
	});
});
