/** A token, or an account, that binds a gateway: every way in, and every attempt to avoid the gateway. */
import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { AiGateway } from "../../../src/surfaces/gateway/gateway-wire.ts";
import { backgroundWork } from "../../../src/surfaces/responses/background.ts";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { CALLER, completion, upstream } from "../../gateway.ts";
import { ADMIN, type ClosedGateway, closedGateway, json, tokenBody } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const BGE = "@cf/baai/bge-base-en-v1.5";
const FLUX = "@cf/black-forest-labs/flux-1-schnell";
/** A header of a PNG file. */
const PNG =
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: Object.fromEntries(
		[LLAMA, BGE, FLUX, "gpt-5.6-sol"].map((model) => [model, [{ backend: "engine", model: "served" }]]),
	),
};
/** A log waits for its object, on a busy machine longer. */
const PATIENCE = { timeout: 20_000 };
const REQUIRED = { id: "prod", mode: "required", metadata: { team: "search" } } as const;

interface LogJson {
	metadata: Record<string, unknown> | null;
	status_code: number;
	cost: number | null;
}

interface World extends Pick<ClosedGateway, "account" | "app" | "createToken" | "send" | "services"> {
	token: string;
	requests: readonly Request[];
	logs(id: string): Promise<LogJson[]>;
}

function reply(request: Request): Response {
	const { pathname } = new URL(request.url);
	if (pathname.endsWith("/embeddings"))
		return Response.json({
			data: [{ index: 0, embedding: Array(768).fill(0.1) }],
			usage: { prompt_tokens: 2 },
		});
	if (pathname.includes("/images/")) return Response.json({ data: [{ b64_json: PNG }] });
	return Response.json(completion("Hello"));
}

async function world(bound: object | undefined = REQUIRED, settings: object = {}): Promise<World> {
	const engine = upstream(reply);
	const closed = closedGateway({ vars: VARS, fetch: engine.fetch });
	const { account, createToken, send, services } = closed;
	for (const id of ["prod", "other", "default"])
		await services.gateways.change(account, id, (registry) =>
			registry.create(id, { ...GATEWAY_SETTINGS, ...settings }),
		);
	const token = await createToken(["Workers AI Run"], bound && { gateway: bound });
	return {
		...closed,
		token,
		requests: engine.requests,
		async logs(id) {
			const list = await send(`/ai-gateway/gateways/${id}/logs?per_page=50`, ADMIN);
			return (await list.json<{ result: LogJson[] }>()).result;
		},
	};
}

/** `gateway`: the gateway that the request names. */
type Way = (at: World, gateway?: string) => Promise<Response>;

const over =
	(path: string, body: unknown, init: RequestInit = {}): Way =>
	(at, gateway) => {
		const { headers, ...request } = { ...json("POST", body), ...init };
		return at.send(path, at.token, {
			...request,
			headers: { ...(headers as object), ...(gateway !== undefined && { "cf-aig-gateway-id": gateway }) },
		});
	};

const MESSAGES = [{ role: "user", content: "Hi" }];
const chat = { model: LLAMA, messages: MESSAGES };
const STEP = { provider: "workers-ai", endpoint: LLAMA, headers: {}, query: { prompt: "Hi" } };
const CONTENTS = { contents: [{ parts: [{ text: "Hi" }] }] };
const PADDED = { ...chat, messages: [{ role: "user", content: "word ".repeat(20_000) }] };

/** Ways in that run a request in a gateway, also if it names none. */
const WAYS: Readonly<Record<string, Way>> = {
	"run/{model}": over(`/ai/run/${LLAMA}`, { prompt: "Hi" }),
	run: over("/ai/run", { model: LLAMA, input: { prompt: "Hi" } }),
	chat: over("/ai/v1/chat/completions", chat),
	"chat with a large body": over("/ai/v1/chat/completions", PADDED),
	Messages: over("/ai/v1/messages", { ...chat, max_tokens: 64 }),
	Responses: over("/ai/v1/responses", { model: "gpt-5.6-sol", input: "Hi", store: false }),
	"stored Responses": over("/ai/v1/responses", { model: "gpt-5.6-sol", input: "Hi", store: true }),
	embeddings: over("/ai/v1/embeddings", { model: BGE, input: "Hi" }),
	"two images": over("/ai/v1/images/generations", { model: FLUX, prompt: "Hi", n: 2 }),
	Gemini: over(`/ai/v1beta/models/${encodeURIComponent(LLAMA)}:generateContent`, CONTENTS),
	"the socket of Responses": async (here, gateway) => {
		const headers = { upgrade: "websocket", ...(gateway !== undefined && { "cf-aig-gateway-id": gateway }) };
		const { webSocket: socket } = await here.send("/ai/v1/responses", here.token, { headers });
		if (!socket) throw new Error("no socket");
		const answered = Promise.withResolvers<Response>();
		socket.addEventListener("message", ({ data }) => {
			const frame = JSON.parse(String(data));
			if (frame.type === "error") answered.resolve(Response.json(frame, { status: frame.status }));
			if (frame.type === "response.completed") answered.resolve(Response.json(frame));
		});
		socket.accept();
		const metadata = { team: "sales" };
		socket.send(
			JSON.stringify({ type: "response.create", model: "gpt-5.6-sol", input: "Hi", store: false, metadata }),
		);
		return answered.promise;
	},
	proxy: (at, gateway) =>
		at.send("/ai/run/proxy", at.token, {
			...json("POST", {
				inputs: { prompt: "Hi" },
				options: gateway === undefined ? {} : { gateway: { id: gateway } },
			}),
			headers: {
				"content-type": "application/json",
				"x-forwarded": `https://workers-binding.ai/${gateway === undefined ? "" : "ai-gateway/"}run?version=3`,
				"cf-consn-model-id": LLAMA,
			},
		}),
};

const at =
	(path: (gateway: string) => string, body: unknown): Way =>
	({ account, send, token }, gateway = "other") =>
		send(`http://gateway/v1/${account}/${path(gateway)}`, undefined, {
			...json("POST", body),
			headers: {
				"content-type": "application/json",
				"cf-aig-authorization": `Bearer ${token}`,
				authorization: "Bearer sk-of-the-caller-0123456789",
			},
		});

/** Ways in whose address names the gateway. */
const ADDRESSES: Readonly<Record<string, Way>> = {
	universal: at((gateway) => gateway, [STEP]),
	"workers-ai": at((gateway) => `${gateway}/workers-ai/${LLAMA}`, { prompt: "Hi" }),
	compat: at((gateway) => `${gateway}/compat/chat/completions`, { ...chat, model: `workers-ai/${LLAMA}` }),
	"a provider": at((gateway) => `${gateway}/openai/chat/completions`, { ...chat, model: "gpt-5.6-sol" }),
	websocket: async (here, gateway = "other") => {
		const { webSocket: socket } = await here.app.request(`http://gateway/v1/${here.account}/${gateway}`, {
			headers: { upgrade: "websocket", "cf-aig-authorization": `Bearer ${here.token}` },
		});
		if (!socket) throw new Error("no socket");
		const answered = Promise.withResolvers<Response>();
		socket.addEventListener("message", ({ data }) => {
			const { metadata, response } = JSON.parse(String(data));
			answered.resolve(Response.json(response, { status: metadata.statusCode ?? 200 }));
		});
		socket.accept();
		socket.send(JSON.stringify({ type: "universal.create", request: STEP }));
		return answered.promise;
	},
	"the proxy to an address": ({ send, token }, gateway = "other") =>
		send("/ai/run/proxy", token, {
			...json("POST", [STEP]),
			headers: {
				"content-type": "application/json",
				"x-forwarded": `https://workers-binding.ai/ai-gateway/universal/run/${gateway}`,
			},
		}),
};

const form = (): RequestInit => {
	const body = new FormData();
	body.append("files", new File(["<p>Hi</p>"], "hi.html", { type: "text/html" }));
	return { method: "POST", body, headers: {} };
};

/** Ways in that have no gateway. */
const OUTSIDE: Readonly<Record<string, Way>> = {
	"a websocket of a model": (here) =>
		here.send("/ai/run/@cf/deepgram/flux?encoding=linear16&sample_rate=16000", here.token, {
			headers: { upgrade: "websocket" },
		}),
	"a count of tokens": over("/ai/v1/messages/count_tokens", chat),
	"Gemini's count": over(`/ai/v1beta/models/${encodeURIComponent(LLAMA)}:countTokens`, CONTENTS),
	Markdown: (here) => here.send("/ai/tomarkdown", here.token, form()),
};

const sentence = async (response: Response): Promise<string> => {
	expect(response.status).toBe(403);
	return response.text();
};

describe("a token that must use the gateway prod", () => {
	it.each(Object.entries(WAYS))("runs in it by %s, also without naming it", async (_, way) => {
		const here = await world();
		for (const gateway of [undefined, undefined, "prod"]) {
			const response = await way(here, gateway);
			expect(response.status, await response.clone().text()).toBe(200);
			await response.text();
		}
		await expect.poll(async () => (await here.logs("prod")).length, PATIENCE).toBe(3);
		for (const { metadata } of await here.logs("prod")) expect(metadata).toMatchObject({ team: "search" });
	});

	it.each(Object.entries({ ...WAYS, ...ADDRESSES }))("cannot name another by %s", async (_, way) => {
		const here = await world();
		for (const gateway of ["other", "default"])
			expect(await sentence(await way(here, gateway))).toContain('run in the gateway \\"prod\\"');
		expect(here.requests).toEqual([]);
		expect([...(await here.logs("other")), ...(await here.logs("default"))]).toEqual([]);
	});

	it.each(Object.entries(ADDRESSES))("runs in it at its address: %s", async (_, way) => {
		const here = await world();
		await (await way(here, "prod")).text();
		await expect
			.poll(async () => (await here.logs("prod")).map((log) => log.metadata), PATIENCE)
			.toEqual([{ team: "search" }]);
	});

	it.each(Object.entries(OUTSIDE))("is refused by %s, which has no gateway", async (_, way) => {
		const here = await world();
		expect(await sentence(await way(here))).toContain("this one has no gateway");
		expect(here.requests).toEqual([]);
	});

	it("cannot use what another gateway stores: its logs and its streams", async () => {
		const here = await world();
		const id = "0190a0a0-0000-7000-8000-000000000000";
		for (const path of [`logs/${id}`, `run/${"a".repeat(64)}/resume`])
			for (const [gateway, status] of [
				["other", 403],
				["prod", path.startsWith("logs") ? 404 : 500],
			] as const) {
				const forwarded = `https://workers-binding.ai/ai-gateway/gateways/${gateway}/${path}`;
				const response = await here.send("/ai/run/proxy", here.token, {
					headers: { "x-forwarded": forwarded },
				});
				expect([path, gateway, response.status === 403]).toEqual([path, gateway, status === 403]);
			}
	});

	it("runs in it in the background, and cannot name another", async () => {
		const here = await world();
		const background = over("/ai/v1/responses", { model: "gpt-5.6-sol", input: "Hi", background: true });
		expect(await sentence(await background(here, "other"))).toContain('run in the gateway \\"prod\\"');
		const { id } = await (await background(here)).json<{ id: string }>();
		const { signal } = new AbortController();
		const work = { account: here.account, key: id, signal, attempt: 1, body: "", progress: undefined };
		await backgroundWork(here.services).run(work as never);
		await expect
			.poll(async () => (await here.logs("prod")).map((log) => log.metadata), PATIENCE)
			.toEqual([{ team: "search" }]);
	});

	it("cannot change its metadata: by a header, a step, a step's config, or the log", async () => {
		const here = await world();
		const metadata = { team: "sales", shift: "night" };
		const headers = { "cf-aig-metadata": JSON.stringify(metadata) };
		await here.send(`/ai/run/${LLAMA}`, here.token, { ...json("POST", { prompt: "Hi" }), headers });
		await at((id) => id, [{ ...STEP, headers }])(here, "prod");
		await at((id) => id, [{ ...STEP, config: { metadata } }])(here, "prod");
		await expect.poll(async () => (await here.logs("prod")).length, PATIENCE).toBe(3);
		for (const log of await here.logs("prod"))
			expect(log.metadata).toEqual({ team: "search", shift: "night" });
		const [log] = await here.logs("prod");
		const forwarded = `https://workers-binding.ai/ai-gateway/gateways/prod/logs/${(log as { id?: string })?.id}`;
		const patched = await here.send("/ai/run/proxy", here.token, {
			...json("PATCH", { metadata }),
			headers: { "content-type": "application/json", "x-forwarded": forwarded },
		});
		expect(patched.status).toBe(403);
	});

	it("cannot switch its log off: by headers, a step, or the options of a run", async () => {
		const here = await world();
		const off = { "cf-aig-collect-log": "false", "cf-aig-collect-log-payload": "false" };
		await here.send(`/ai/run/${LLAMA}`, here.token, { ...json("POST", { prompt: "Hi" }), headers: off });
		await at((id) => id, [{ ...STEP, headers: off }])(here, "prod");
		await at((id) => id, [{ ...STEP, config: { collectLog: false } }])(here, "prod");
		await expect.poll(async () => (await here.logs("prod")).length, PATIENCE).toBe(3);
		const list = await here.send("/ai-gateway/gateways/prod/logs", ADMIN);
		for (const { id } of (await list.json<{ result: { id: string }[] }>()).result) {
			const request = await here.send(`/ai-gateway/gateways/prod/logs/${id}/request`, ADMIN);
			expect(await request.text()).toContain("Hi");
		}
	});

	it("keeps its metadata if the caller sends five entries", async () => {
		const here = await world();
		const headers = { "cf-aig-metadata": JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 5 }) };
		await here.send(`/ai/run/${LLAMA}`, here.token, { ...json("POST", { prompt: "Hi" }), headers });
		await expect
			.poll(async () => (await here.logs("prod")).map((log) => log.metadata), PATIENCE)
			.toEqual([{ team: "search", a: 1, b: 2, c: 3, d: 4 }]);
	});

	it("is not served from the lease of a request in the gateway", async () => {
		const here = await world();
		for (let count = 0; count < 5; count++)
			expect((await at((id) => `${id}/workers-ai/${LLAMA}`, { prompt: "Hi" })(here, "prod")).status).toBe(
				200,
			);
		expect((await OUTSIDE["a count of tokens"]?.(here))?.status).toBe(403);
		const { requests } = here;
		const before = requests.length;
		expect((await WAYS["run/{model}"]?.(here, "other"))?.status).toBe(403);
		expect(requests.length).toBe(before);
	});

	it("cannot make a token that binds none or another", async () => {
		const here = await world();
		const maker = await here.createToken(["Workers AI Run", "Account API Tokens Write"], {
			gateway: REQUIRED,
		});
		const made = async (gateway: unknown) => {
			const body = {
				name: "a second token",
				policies: [
					{
						effect: "allow",
						permission_groups: [{ name: "Workers AI Run" }],
						resources: { [`com.cloudflare.api.account.${here.account}`]: "*" },
					},
				],
				...(gateway !== undefined && { gateway }),
			};
			return (await here.send("/tokens", maker, json("POST", body))).status;
		};
		expect([
			await made(undefined),
			await made({ ...REQUIRED, id: "other" }),
			await made({ id: "prod", mode: "default" }),
			await made(REQUIRED),
		]).toEqual([403, 403, 403, 200]);
	});
});

describe("a token with the default gateway prod", () => {
	const DEFAULT = { id: "prod", mode: "default" };

	it.each(Object.entries(WAYS))("runs in it by %s unless the request names another", async (_, way) => {
		const here = await world(DEFAULT);
		expect((await way(here)).status).toBe(200);
		expect((await way(here, "other")).status).toBe(200);
		await expect
			.poll(async () => [(await here.logs("prod")).length, (await here.logs("other")).length], PATIENCE)
			.toEqual([1, 1]);
	});

	it("is served without a gateway where there is none", async () => {
		const here = await world(DEFAULT);
		expect((await OUTSIDE["a count of tokens"]?.(here))?.status).toBe(200);
		expect((await OUTSIDE.Markdown?.(here))?.status).toBe(200);
	});
});

describe("an account that binds the gateway prod", () => {
	const bind = ({ send }: World, body: object | undefined, token: string = ADMIN) =>
		send("/ai/bound-gateway", token, body ? json("PUT", body) : { method: "DELETE" });

	it("is set by the operator only, shown, and removed", async () => {
		const here = await world(undefined);
		expect((await bind(here, REQUIRED, here.token)).status).toBe(403);
		expect((await bind(here, { ...REQUIRED, mode: "always" })).status).toBe(400);
		expect(await (await bind(here, REQUIRED)).json()).toMatchObject({ result: REQUIRED });
		expect(await (await here.send("/ai/bound-gateway", ADMIN)).json()).toMatchObject({ result: REQUIRED });
		expect(await (await bind(here, undefined)).json()).toMatchObject({ result: null });
	});

	it.each([
		["prd", 'the account has no gateway "prd"; did you mean "prod"?'],
		["sales", 'the account has no gateway "sales"; POST …/ai-gateway/gateways creates it'],
	])("is told if the gateway %s does not exist, and so is a token", async (id, message) => {
		const here = await world(undefined);
		const gateway = { ...REQUIRED, id };
		const messages = async (answer: Promise<Response>) =>
			((await (await answer).json()) as { messages: unknown }).messages;
		expect(await messages(bind(here, gateway))).toEqual([{ code: 7001, message: `id: ${message}` }]);
		const body = { ...tokenBody(here.account, ["Workers AI Run"]), gateway };
		expect(await messages(here.send("/tokens", ADMIN, json("POST", body)))).toEqual([
			{ code: 7001, message: `gateway.id: ${message}` },
		]);
		expect(await messages(bind(here, REQUIRED))).toEqual([]);
	});

	it("applies to its tokens, the operator, its bindings, RPC and toMarkdown", async () => {
		const here = await world(undefined);
		await bind(here, REQUIRED);
		const { account, services } = here;
		expect((await WAYS.chat?.(here, "other"))?.status).toBe(403);
		expect((await WAYS.chat?.(here))?.status).toBe(200);
		expect((await WAYS.chat?.({ ...here, token: ADMIN }, "other"))?.status).toBe(403);
		const wire = (path: string, options: object) =>
			wireOf(services).fetch(
				new Request(`https://workers-binding.ai${path}?version=3`, {
					...json("POST", { inputs: { prompt: "Hi" }, options }),
					headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
				}),
				{ caller: { ...CALLER, account } },
			);
		const gateway = { metadata: { team: "sales" } };
		const extraHeaders = { "cf-aig-metadata": '{"team":"sales"}' };
		expect((await wire("/run", { gateway })).status).toBe(200);
		expect((await wire("/ai-gateway/run", { gateway: { id: "other" } })).status).toBe(403);
		const context = Object.defineProperty(createExecutionContext(), "props", { value: { account } });
		const rpc = new (entrypoint(() => ({ services, allowAnonymous: false })))(context, {});
		expect(await rpc.run(LLAMA, { prompt: "Hi" }, { gateway, extraHeaders })).toMatchObject({
			response: "Hello",
		});
		const prod = new AiGateway("prod", { ...CALLER, account }, services);
		expect((await prod.run(STEP, { gateway, extraHeaders })).status).toBe(200);
		await expect(rpc.run(LLAMA, { prompt: "Hi" }, { gateway: { id: "other" } })).rejects.toThrow(
			'run in the gateway "prod"',
		);
		const other = new AiGateway("other", { ...CALLER, account }, services);
		expect((await other.run(STEP)).status).toBe(403);
		const files = { name: "hi.html", blob: new Blob(["<p>Hi</p>"], { type: "text/html" }) };
		await expect(rpc.toMarkdown(files)).rejects.toThrow("this one has no gateway");
		await expect
			.poll(async () => (await here.logs("prod")).map((log) => log.metadata), PATIENCE)
			.toEqual(Array(4).fill({ team: "search" }));
		expect(await here.logs("other")).toEqual([]);
	});

	it("is that of the plan of a request that names none", async () => {
		const here = await world(undefined);
		await bind(here, REQUIRED);
		const refusals = async (token: string, model: string, headers: Record<string, string> = {}) => {
			const request = json("POST", { messages: [{ role: "user", content: "Hi" }] });
			const sent = { ...request, headers: { ...request.headers, ...headers } };
			const response = await here.send(`/ai/explain/${model}`, token, sent);
			return (await response.json<{ result: { refused: { code: number }[] } }>()).result.refused;
		};
		const alias = json("POST", { name: "assistant", models: ["gpt-5.6-sol"] });
		expect((await here.send("/ai-gateway/gateways/prod/aliases", ADMIN, alias)).status).toBe(200);
		const reader = await here.createToken(["Workers AI Read"]);
		const chat = json("POST", { messages: [{ role: "user", content: "Hi" }] });
		for (const token of [reader, ADMIN]) {
			expect(await refusals(token, LLAMA)).toEqual([]);
			// Only the gateway prod has the alias.
			expect((await here.send("/ai/explain/custom/assistant", token, chat)).status).toBe(200);
		}
		expect(await refusals(reader, LLAMA, { "cf-aig-gateway-id": "prod" })).toEqual([]);
		const elsewhere = await refusals(reader, LLAMA, { "cf-aig-gateway-id": "other" });
		expect(elsewhere).toMatchObject([{ code: 9109, message: expect.stringContaining("names another") }]);
	});

	it("gives way to a token's own gateway", async () => {
		const here = await world({ id: "other", mode: "required" });
		await bind(here, REQUIRED);
		expect((await WAYS.chat?.(here))?.status).toBe(200);
		expect((await WAYS.chat?.(here, "prod"))?.status).toBe(403);
	});
});

describe("spend rules", () => {
	const rule = (metadata: object) => ({
		spend_limits: {
			enabled: true,
			rules: [{ id: "each", limitType: "cost", limit: 1, window: 86_400, metadata }],
		},
	});
	const costs = (total_cost: number) => ({ "cf-aig-custom-cost": JSON.stringify({ total_cost }) });
	const send = (here: World, headers: Record<string, string>) =>
		here.send(`/ai/run/${LLAMA}`, here.token, { ...json("POST", { prompt: "Hi" }), headers });

	it("partition by token", async () => {
		const here = await world(undefined, rule({ "cf.token_id": { mode: "partition" } }));
		const inProd = { "cf-aig-gateway-id": "prod" };
		expect((await send(here, { ...inProd, ...costs(2) })).status).toBe(200);
		await expect.poll(async () => (await send(here, inProd)).status, PATIENCE).toBe(429);
		const token = await here.createToken(["Workers AI Run"]);
		expect((await send({ ...here, token }, inProd)).status).toBe(200);
	});

	it.each([
		["ignore the costs of a token that may not name them", false, 2, 200],
		["believe the costs of a token that may", true, 2, 429],
	] as const)("%s", async (_, custom_cost, total, status) => {
		const here = await world({ ...REQUIRED, custom_cost }, rule({ team: { mode: "partition" } }));
		expect((await send(here, costs(total))).status).toBe(200);
		await expect.poll(async () => (await here.logs("prod")).length, PATIENCE).toBe(1);
		await expect.poll(async () => (await send(here, {})).status, PATIENCE).toBe(status);
	});
});
