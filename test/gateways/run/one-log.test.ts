/** Each request to a gateway has exactly one log, by every way in, also if it is refused or its caller leaves. */
import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { AiGateway } from "../../../src/surfaces/gateway/gateway-wire.ts";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { CALLER, completion, delta, liveEvents, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "../../surfaces/gateway/gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const GUARD = "@cf/meta/llama-guard-3-8b";
const CARD = "4111 1111 1111 1111";
/** Bytes of a body. */
const MAX_BODY = 4_096;

const VARS = {
	BACKENDS: {
		engine: { kind: "openai", url: "http://engine/v1" },
		guard: { kind: "openai", url: "http://guard/v1" },
	},
	ROUTES: {
		[LLAMA]: { targets: [{ backend: "engine", model: "llama" }], retries: { attempts: 1 } },
		[GUARD]: [{ backend: "guard", model: "guard" }],
	},
	LIMITS: { json_bytes: MAX_BODY },
};

interface LogJson {
	id: string;
	event_id: string;
	status_code: number;
	success: boolean;
	provider: string;
	/** US dollars. */
	cost: number | null;
}

interface Bill {
	outcome: string;
	neurons: number;
}

async function gateway(settings: object, reply: (request: Request) => Response | Promise<Response>) {
	const engine = upstream((request) =>
		new URL(request.url).hostname === "guard" ? Response.json(completion("unsafe\nS1")) : reply(request),
	);
	const { app, services, account, send, createToken } = closedGateway({ vars: VARS, fetch: engine.fetch });
	await services.gateways.change(account, "main", (registry) =>
		registry.create("main", { ...GATEWAY_SETTINGS, ...settings }),
	);
	const token = await createToken(["Workers AI Run"]);
	let spent = 0;
	const { gatewayLimits } = services;
	services.gatewayLimits = Object.assign(Object.create(gatewayLimits), {
		take: gatewayLimits.take.bind(gatewayLimits),
		spend: (...[limited, windows, cost]: Parameters<typeof gatewayLimits.spend>) => {
			if (windows.length > 0) spent += cost;
			gatewayLimits.spend(limited, windows, cost);
		},
	});
	const context = Object.defineProperty(createExecutionContext(), "props", { value: { account } });
	return {
		account,
		engine,
		token,
		rpc: new (entrypoint(() => ({ services, allowAnonymous: false })))(context, {}),
		rpcGateway: new AiGateway("main", { ...CALLER, account }, services),
		request: (path: string, init: RequestInit): Promise<Response> =>
			Promise.resolve(app.request(`http://gateway${path}`, init)),
		wire: (path: string, init: RequestInit): Promise<Response> =>
			Promise.resolve(
				wireOf(services).fetch(new Request(`https://workers-binding.ai${path}`, init), {
					caller: { ...CALLER, account },
				}),
			),
		/** Requests of models, with those that are not settled. */
		async bills(): Promise<Bill[]> {
			const list = await send("/ai/usage/requests?limit=100", ADMIN);
			return (await list.json<{ result: Bill[] }>()).result;
		},
		/** US dollars that a spend rule for all requests has counted. */
		spent: () => spent,
		async logs(): Promise<LogJson[]> {
			const list = await send("/ai-gateway/gateways/main/logs?per_page=50", ADMIN);
			return (await list.json<{ result: LogJson[] }>()).result;
		},
	};
}
type World = Awaited<ReturnType<typeof gateway>>;

interface Sent {
	/** Identifies the log. */
	event: string;
	prompt: string;
	model: string;
	stream: boolean;
	/** Replaces the body. */
	body?: string | undefined;
	signal: AbortSignal;
}

type Way = (world: World, sent: Sent) => Promise<Response>;

const OWN_KEY = { authorization: "Bearer sk-of-the-caller-0123456789" };

/** A way over HTTP. `body`: of the request. */
const over =
	(
		path: (world: World, sent: Sent) => string,
		body: (sent: Sent) => unknown,
		headers: (world: World) => Record<string, string> = ({ token }) => ({
			authorization: `Bearer ${token}`,
		}),
	): Way =>
	(world, sent) =>
		world.request(path(world, sent), {
			method: "POST",
			body: sent.body ?? JSON.stringify(body(sent)),
			signal: sent.signal,
			headers: {
				"content-type": "application/json",
				"cf-aig-event-id": sent.event,
				...headers(world),
			},
		});

const inMain = ({ token }: World) => ({ authorization: `Bearer ${token}`, "cf-aig-gateway-id": "main" });
const own = ({ token }: World) => ({ ...OWN_KEY, "cf-aig-authorization": `Bearer ${token}` });
const api = ({ account }: World) => `/client/v4/accounts/${account}/ai`;
const main = ({ account }: World) => `/v1/${account}/main`;
const chat = ({ model, prompt, stream }: Sent) => ({
	model,
	messages: [{ role: "user", content: prompt }],
	max_tokens: 64,
	stream,
});
const native = ({ prompt, stream }: Sent) => ({ prompt, stream });
const step = (sent: Sent) => ({
	provider: "workers-ai",
	endpoint: sent.model,
	headers: {},
	query: native(sent),
});

const WAYS: Readonly<Record<string, Way>> = {
	"/ai/run/{model}": over((world, { model }) => `${api(world)}/run/${model}`, native, inMain),
	"/ai/run": over(
		(world) => `${api(world)}/run`,
		(sent) => ({ model: sent.model, input: native(sent) }),
		inMain,
	),
	"/ai/v1/chat/completions": over((world) => `${api(world)}/v1/chat/completions`, chat, inMain),
	"/ai/v1/messages": over((world) => `${api(world)}/v1/messages`, chat, inMain),
	"/ai/v1/responses": over(
		(world) => `${api(world)}/v1/responses`,
		({ model, prompt, stream }) => ({ model, input: prompt, stream, store: false }),
		inMain,
	),
	Gemini: over(
		(world, { model, stream }) =>
			`${api(world)}/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		({ prompt }) => ({ contents: [{ role: "user", parts: [{ text: prompt }] }] }),
		inMain,
	),
	universal: over(main, (sent) => [step(sent)]),
	"workers-ai": over((world, { model }) => `${main(world)}/workers-ai/${model}`, native),
	compat: over(
		(world) => `${main(world)}/compat/chat/completions`,
		(sent) => ({ ...chat(sent), model: `workers-ai/${sent.model}` }),
	),
	provider: over((world) => `${main(world)}/openai/chat/completions`, chat, own),
	binding: (world, { event, model, body, signal, ...sent }) =>
		world.wire("/ai-gateway/run?version=3", {
			...json("POST", {
				inputs: native({ event, model, signal, ...sent }),
				// The runtime's class always writes JSON. A queue is refused when the body is read.
				options: { gateway: { id: "main", eventId: event }, ...(body && { queueRequest: true }) },
			}),
			signal,
			headers: { "content-type": "application/json", "cf-consn-model-id": model },
		}),
	RPC: async (world, { event, model, body, signal, ...sent }) => {
		const raw = await world.rpc.run(model, native({ event, model, signal, ...sent }), {
			signal,
			returnRawResponse: true,
			gateway: { id: "main", eventId: event },
			// The arguments of a call are no text.
			...(body && { queueRequest: true }),
		});
		if (!(raw instanceof Response)) throw new Error("no response");
		return raw;
	},
	"RPC/gateway": (world, sent) =>
		world.rpcGateway.run(sent.body ?? step(sent), {
			signal: sent.signal,
			gateway: { eventId: sent.event },
		}),
	websocket: async (world, sent) => {
		const response = await world.request(main(world), {
			headers: {
				upgrade: "websocket",
				"cf-aig-event-id": sent.event,
				"cf-aig-authorization": `Bearer ${world.token}`,
			},
		});
		const { webSocket: socket } = response;
		if (!socket) return response;
		const answered = Promise.withResolvers<Response>();
		socket.addEventListener("message", ({ data }) => {
			const { metadata } = JSON.parse(String(data));
			answered.resolve(Response.json({}, { headers: { "cf-aig-log-id": metadata.logId } }));
		});
		sent.signal.addEventListener("abort", () => socket.close(1000));
		socket.accept();
		socket.send(
			sent.body ??
				JSON.stringify({ type: "universal.create", request: { ...step(sent), eventId: sent.event } }),
		);
		// A caller who leaves receives no frame.
		sent.signal.addEventListener("abort", () => answered.resolve(new Response()));
		return answered.promise;
	},
};

/** Without the one that passes to a provider, whose prices are not known. */
const MODEL_WAYS: typeof WAYS = Object.fromEntries(
	Object.entries(WAYS).filter(([way]) => way !== "provider"),
);

interface Refusal {
	settings?: object;
	reply?: (request: Request) => Response | Promise<Response>;
	sent?: Partial<Sent>;
	/** Requests that are sent before. */
	before?: readonly string[];
}

const answers = () => Response.json(completion("Hello"));
const spend = { id: "all", limitType: "cost", limit: 0.000_000_1, window: 86_400 };
const dlp = (check: string) => ({
	enabled: true,
	policies: [{ id: "cards", enabled: true, action: "BLOCK", check: [check], profiles: ["credit_card"] }],
});

const REFUSALS: Readonly<Record<string, Refusal>> = {
	"is not JSON": { sent: { body: '{"prompt": ' } },
	"is too large": { sent: { body: JSON.stringify({ prompt: "x".repeat(MAX_BODY) }) } },
	"names an unknown model": {
		sent: { model: "@cf/none/none" },
		reply: () => Response.json({ error: { message: "no such model" } }, { status: 404 }),
	},
	"is above the rate": {
		settings: { rate_limiting_limit: 1, rate_limiting_interval: 3_600, rate_limiting_technique: "sliding" },
		before: ["/ai/run"],
	},
	"is above the budget": {
		settings: { spend_limits: { enabled: true, rules: [spend] } },
		before: ["/ai/run"],
	},
	"is blocked by a guardrail": { settings: { guardrails: { prompt: { S1: "BLOCK" } } } },
	"has data that must not leave": { settings: { dlp: dlp("REQUEST") }, sent: { prompt: CARD } },
	"has an answer with data that must not leave": {
		settings: { dlp: dlp("RESPONSE") },
		reply: () => Response.json(completion(CARD)),
	},
	"reaches no engine": {
		reply: () => {
			throw new Error("connection refused");
		},
	},
};

const failing = (status: number, body: BodyInit = '{"error":{"message":"no"}}', type = "application/json") =>
	new Response(body, { status, headers: { "content-type": type } });
const EVENTS = "text/event-stream";
const broken = (first: string): ReadableStream =>
	new ReadableStream({
		start(controller) {
			controller.enqueue(new TextEncoder().encode(first));
		},
		pull(controller) {
			controller.error(new Error("reset"));
		},
	});
const FIRST_EVENT = `data: ${JSON.stringify({
	id: "1",
	object: "chat.completion.chunk",
	choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }],
})}\n\n`;

/** Answers of an engine to a whole or a streamed request. */
const FAULTS: Readonly<Record<string, (stream: boolean) => Response>> = {
	"refuses the request": () => failing(400),
	"refuses the key": () => failing(401),
	"does not know the model": () => failing(404),
	"is busy": () => failing(429),
	fails: () => failing(500),
	"is behind a proxy that fails": () => failing(502, "<html>Bad Gateway</html>", "text/html"),
	"is unavailable": () => failing(503),
	"redirects elsewhere": () => new Response(null, { status: 302, headers: { location: "http://other/" } }),
	"cannot be reached": () => {
		throw new Error("connection refused");
	},
	"answers nothing": () => failing(200, ""),
	"answers text that is no JSON": () => failing(200, "{", "application/json"),
	"answers JSON of another shape": () => Response.json({ choices: { a: 1 } }),
	"answers an error with 200": () => Response.json({ error: { message: "no memory" } }),
	"breaks off": (stream) =>
		failing(200, broken(stream ? FIRST_EVENT : '{"choices":['), stream ? EVENTS : undefined),
	"ends without an end": (stream) =>
		failing(200, stream ? FIRST_EVENT : '{"choices":[', stream ? EVENTS : undefined),
	"sends an error amid its answer": (stream) =>
		stream
			? failing(200, `${FIRST_EVENT}data: {"error":{"message":"no memory"}}\n\n`, EVENTS)
			: Response.json({ ...completion("Hel"), error: { message: "no memory" } }),
	"answers the other form": (stream) =>
		stream ? Response.json(completion("Hello")) : failing(200, `${FIRST_EVENT}data: [DONE]\n\n`, EVENTS),
};

type Owed = "none" | "whole" | "part";

/** `part`: the engine has begun an answer, and states no usage. */
const OWED: Readonly<Record<string, { whole: Owed; streamed: Owed }>> = {
	...Object.fromEntries(Object.keys(FAULTS).map((fault) => [fault, { whole: "none", streamed: "none" }])),
	"breaks off": { whole: "none", streamed: "part" },
	"ends without an end": { whole: "none", streamed: "part" },
	"sends an error amid its answer": { whole: "none", streamed: "part" },
	"answers the other form": { whole: "part", streamed: "whole" },
	"has no fault": { whole: "whole", streamed: "whole" },
};
const DOLLARS_PER_NEURON = 0.000_011;
/** Of 3 input tokens and 2 output tokens, by the catalogue's prices of a million. */
const WHOLE_DOLLARS = ((3 * 13_778 + 2 * 26_128) / 1_000_000) * DOLLARS_PER_NEURON;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const roomy = { ...spend, limit: 1_000 };

const isRefused = ({ status_code, success }: LogJson) => status_code >= 400 && !success;

describe("a request to a gateway has one log if it", () => {
	const newSent = (event: string, sent: Partial<Sent> = {}): Sent => ({
		event,
		prompt: "Hi",
		model: LLAMA,
		stream: false,
		signal: new AbortController().signal,
		...sent,
	});

	/** The event ids of the logs, sorted, once there are as many as expected. */
	async function eventsOf(world: World, expected: number): Promise<string[]> {
		await expect.poll(async () => (await world.logs()).length).toBeGreaterThanOrEqual(expected);
		return (await world.logs()).map(({ event_id }) => event_id).sort();
	}

	it("is answered", async () => {
		const world = await gateway({}, answers);
		for (const [event, send] of Object.entries(WAYS)) await (await send(world, newSent(event))).text();
		expect(await eventsOf(world, Object.keys(WAYS).length)).toEqual(Object.keys(WAYS).sort());
		for (const { status_code, success } of await world.logs())
			expect([status_code, success]).toEqual([200, true]);
	});

	it.each(Object.entries(REFUSALS))(
		"%s",
		async (_, { settings = {}, reply = answers, sent, before = [] }) => {
			const world = await gateway(settings, reply);
			for (const way of before) await (await WAYS[way]?.(world, newSent("before")))?.text();
			if (before.length > 0) await eventsOf(world, before.length);
			const ids: Record<string, string | null> = {};
			for (const [event, send] of Object.entries(WAYS)) {
				const response = await send(world, newSent(event, sent));
				await response.text();
				ids[event] = response.headers.get("cf-aig-log-id");
			}
			const all = Object.keys(WAYS).length + before.length;
			expect(await eventsOf(world, all)).toEqual(
				[...Object.keys(WAYS), ...before.map(() => "before")].sort(),
			);
			const rows = (await world.logs()).filter(({ event_id }) => event_id !== "before");
			expect(Object.fromEntries(rows.map(({ event_id, id }) => [event_id, id]))).toEqual(ids);
			expect(rows.filter((row) => !isRefused(row)).map(({ event_id }) => event_id)).toEqual([]);
		},
	);

	it.each(Object.entries(OWED))(
		"is answered by a provider or an engine that %s, whole and streamed; and a model's request has one bill, of what it owes, as has the spend limit",
		async (fault, owed) => {
			for (const stream of [false, true]) {
				const world = await gateway({ spend_limits: { enabled: true, rules: [roomy] } }, () =>
					(FAULTS[fault] ?? answers)(stream),
				);
				for (const [event, send] of Object.entries(WAYS))
					await (await send(world, newSent(event, { stream }))).text().catch(() => "");
				await expectBooks(world, owed[stream ? "streamed" : "whole"], WAYS);
			}
		},
	);

	/**
	 * Each request of a way has a log. The logs, the bills and the spend limit have the same sums, and each request of a model owes what its
	 * engine has served.
	 */
	async function expectBooks(world: World, owed: Owed, ways: typeof WAYS): Promise<void> {
		const count = Object.keys(MODEL_WAYS).length;
		expect(await eventsOf(world, Object.keys(ways).length)).toEqual(Object.keys(ways).sort());
		await expect.poll(async () => (await world.bills()).length).toBe(count);
		await expect.poll(async () => (await world.bills()).map(({ outcome }) => outcome)).not.toContain("open");
		const logs = await world.logs();
		const costs = logs.flatMap(({ event_id, cost }) => (event_id in MODEL_WAYS ? [cost ?? 0] : []));
		const billed = (await world.bills()).map(({ neurons }) => neurons * DOLLARS_PER_NEURON);
		expect(costs).toHaveLength(count);
		for (const one of [...costs, ...billed]) {
			if (owed === "none") expect(one).toBe(0);
			if (owed === "whole") expect(one).toBeCloseTo(WHOLE_DOLLARS, 12);
			if (owed === "part") expect(one).toBeGreaterThan(0);
		}
		expect(sum(billed)).toBeCloseTo(sum(costs), 12);
		expect(world.spent()).toBeCloseTo(sum(logs.map(({ cost }) => cost ?? 0)), 12);
	}

	it("has more steps and attempts than a request may have, and calls no provider after the last one", async () => {
		const busy = () => Response.json({ error: { message: "busy" } }, { status: 503 });
		const world = await gateway({}, busy);
		const steps = Array.from({ length: 16 }, () => ({
			provider: "openai",
			endpoint: "chat/completions",
			headers: { ...OWN_KEY, "cf-aig-max-attempts": "5", "cf-aig-retry-delay": "0" },
			query: { model: "gpt-5.6-sol", messages: [{ role: "user", content: "Hi" }] },
		}));
		const universal = over(main, () => steps);
		const response = await universal({ ...world }, newSent("universal"));
		expect(response.status).toBe(503);
		await response.text();
		expect(world.engine.requests).toHaveLength(40);
		expect(await eventsOf(world, 1)).toEqual(["universal"]);
	});

	it("is left before the first byte", async () => {
		const world = await gateway({}, (request) => {
			const { promise, reject } = Promise.withResolvers<Response>();
			request.signal.addEventListener("abort", () => reject(request.signal.reason));
			return promise;
		});
		for (const [index, [event, send]] of Object.entries(WAYS).entries()) {
			const caller = new AbortController();
			const response = send(world, newSent(event, { signal: caller.signal })).catch(() => undefined);
			await expect.poll(() => world.engine.requests.length).toBe(index + 1);
			caller.abort();
			await response;
		}
		expect(await eventsOf(world, Object.keys(WAYS).length)).toEqual(Object.keys(WAYS).sort());
	});

	it.each([
		["before the first byte", false],
		["after the first byte", true],
	])("counts in its spend limit what its engine has read and written if it is left %s", async (_, begins) => {
		const world = await gateway({ spend_limits: { enabled: true, rules: [roomy] } }, (request) => {
			if (begins) {
				const live = liveEvents();
				live.send(delta("Hel"));
				return live.response;
			}
			const { promise, reject } = Promise.withResolvers<Response>();
			request.signal.addEventListener("abort", () => reject(request.signal.reason));
			return promise;
		});
		for (const [index, [event, send]] of Object.entries(MODEL_WAYS).entries()) {
			const caller = new AbortController();
			const sent = send(world, newSent(event, { signal: caller.signal, stream: true })).catch(
				() => undefined,
			);
			await expect.poll(() => world.engine.requests.length).toBe(index + 1);
			const reader = begins && event !== "websocket" ? (await sent)?.body?.getReader() : undefined;
			await reader?.read();
			caller.abort();
			await reader?.cancel().catch(() => {});
			await sent;
		}
		await expectBooks(world, "part", MODEL_WAYS);
	});

	it("is left after the first byte", async () => {
		const world = await gateway({}, () => {
			const live = liveEvents();
			live.send(delta("Hel"));
			return live.response;
		});
		for (const [event, send] of Object.entries(WAYS)) {
			const caller = new AbortController();
			const response = await send(world, newSent(event, { signal: caller.signal, stream: true }));
			const reader = event === "websocket" ? undefined : response.body?.getReader();
			await reader?.read();
			caller.abort();
			await reader?.cancel().catch(() => {});
		}
		expect(await eventsOf(world, Object.keys(WAYS).length)).toEqual(Object.keys(WAYS).sort());
	});
});
