/**
 * Seals of reasoning that cannot be opened, by every interface and provider: altered, of another account, backend or model, and after
 * failover. They are dropped and named, no provider receives them, and the turn is answered.
 */
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { OPEN_ACCESS, testServices } from "../gateway.ts";
import { ANTHROPIC_KEY, anthropic, SIGNATURE } from "../hosts/anthropic/index.ts";
import { hostFetch, recordBodies } from "../hosts/fetch.ts";
import { googleChat } from "../hosts/google/chat.ts";
import { GOOGLE_KEY, google } from "../hosts/google/index.ts";
import { GOOGLE_SIGNATURE } from "../hosts/google/reply.ts";
import { OPENAI_KEY, openai } from "../hosts/openai/index.ts";
import { sealOf } from "../hosts/openai/response-items.ts";
import { OPENROUTER_KEY, OPENROUTER_SIGNATURE, openRouter } from "../hosts/openrouter.ts";
import type { Host, Script } from "../hosts/script.ts";
import {
	bareChatCaller,
	chatCaller,
	geminiCaller,
	type LoopCaller,
	type MakeCaller,
	messagesCaller,
	nativeCaller,
	responsesCaller,
} from "./tool-loop-callers.ts";

const KIMI = "@cf/moonshotai/kimi-k2.6";
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
/** A seal begins with these characters. Several may be joined. */
const SEAL = /gngl(?:(?!gngl)[A-Za-z0-9+/])+/g;

const SCRIPT: Script = ({ turns }) =>
	turns.some(({ results }) => results.length > 0)
		? { kind: "text", pieces: ["18 ", "degrees"] }
		: { kind: "tools", calls: [{ name: "weather", input: { city: "Paris" } }] };

interface Provider {
	host: Host;
	/** Two addresses of the provider. */
	urls: readonly [string, string];
	backend: object;
	/** The second one for seals of another model. */
	models: readonly [string, string];
	secret: string;
}

const PROVIDERS: Record<string, Provider> = {
	"OpenAI's Responses": {
		host: openai,
		urls: ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"],
		backend: { kind: "openai", key: "OPENAI_KEY" },
		models: ["gpt-6-astra", "gpt-5.6-sol"],
		secret: sealOf("gpt-6-astra"),
	},
	"Google's route for OpenAI's clients": {
		host: googleChat,
		urls: [
			"https://generativelanguage.googleapis.com/v1beta/openai",
			"https://generativelanguage.googleapis.com:443/v1beta/openai",
		],
		backend: { kind: "openai", key: "GOOGLE_KEY" },
		models: ["gemini-3.8-flash", "gemini-3.8-pro"],
		secret: GOOGLE_SIGNATURE,
	},
	Gemini: {
		host: google,
		urls: ["https://generativelanguage.googleapis.com", "https://eu.generativelanguage.googleapis.com"],
		backend: { kind: "gemini", key: "GOOGLE_KEY" },
		models: ["gemini-3.8-flash", "gemini-3.8-pro"],
		secret: GOOGLE_SIGNATURE,
	},
	Anthropic: {
		host: anthropic,
		urls: ["https://api.anthropic.com", "https://eu.api.anthropic.com"],
		backend: { kind: "anthropic", key: "ANTHROPIC_KEY" },
		models: ["claude-opus-5-5", "claude-sonnet-5-5"],
		secret: SIGNATURE,
	},
	OpenRouter: {
		host: openRouter,
		urls: ["https://openrouter.ai/api/v1", "https://openrouter.ai:443/api/v1"],
		backend: { kind: "openai", key: "OPENROUTER_KEY" },
		models: ["anthropic/claude-opus-4.5", "anthropic/claude-sonnet-4.5"],
		secret: OPENROUTER_SIGNATURE,
	},
};

const CALLERS: Record<string, { make: MakeCaller; model: string }> = {
	"chat completions": { make: chatCaller("/v1/chat/completions"), model: "first" },
	"chat completions without added fields": { make: bareChatCaller, model: "first" },
	Messages: { make: messagesCaller, model: "first" },
	Responses: { make: responsesCaller, model: "first" },
	Gemini: { make: geminiCaller, model: "first" },
	"the native route": { make: nativeCaller, model: LLAMA },
	"the native route in OpenAI's form": { make: chatCaller(`/run/${KIMI}`), model: KIMI },
};

type Fault =
	| "altered"
	| "cut"
	| "of another account"
	| "of another backend"
	| "of another model"
	| "after failover";
const FAULTS: readonly Fault[] = [
	"altered",
	"cut",
	"of another account",
	"of another backend",
	"of another model",
	"after failover",
];

/** Of each interface, for values and streams. */
const OF_ALL: readonly Fault[] = ["altered", "after failover"];

type Gateway = ReturnType<typeof createApp>;

/** Gateways of a provider that have the same state: each reads its routes once, and all tests use those that hold no failure. */
function worldOf({ urls, backend }: Provider, answer: (request: Request) => Promise<Response>) {
	const { fetch, bodies } = recordBodies(answer);
	const create = (targets: object[]): Gateway => {
		const services = testServices({
			vars: {
				BACKENDS: { one: { ...backend, url: urls[0] }, two: { ...backend, url: urls[1] } },
				ROUTES: { "*": { targets, retries: { attempts: 1 } } },
				OPENAI_KEY,
				GOOGLE_KEY,
				ANTHROPIC_KEY,
				OPENROUTER_KEY,
			},
			fetch,
		});
		return createApp(services, OPEN_ACCESS);
	};
	const created = new Map<string, Gateway>();
	const shared = (target: object): Gateway => {
		const name = JSON.stringify(target);
		const gateway = created.get(name) ?? create([target]);
		created.set(name, gateway);
		return gateway;
	};
	return { bodies, create, shared };
}

const post = (gateway: Gateway, caller: LoopCaller, account = "local") =>
	gateway.request(`http://gateway/client/v4/accounts/${account}/ai${caller.path}`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(caller.request()),
	});

/** A provider whose first call fails while it is down. */
function failingWorld(provider: Provider) {
	const state = { isDown: false };
	const answer = hostFetch(provider.host, SCRIPT);
	const world = worldOf(provider, async (request) => {
		// The first call of the turn.
		if (state.isDown) {
			state.isDown = false;
			throw new TypeError("connection refused");
		}
		return answer(request);
	});
	return { state, ...world };
}

/** The second turn of a conversation whose seals have the fault. */
async function secondTurn(
	{ models: [model, otherModel] }: Provider,
	{ state, bodies, create, shared }: ReturnType<typeof failingWorld>,
	caller: LoopCaller,
	fault: Fault,
) {
	const one = { backend: "one", model };
	const first = await (await post(shared(one), caller)).text();
	const seals = first.match(SEAL)?.length ?? 0;
	const changed =
		fault === "altered"
			? first.replace(SEAL, (seal) => seal.slice(0, 60) + (seal[60] === "A" ? "B" : "A") + seal.slice(61))
			: fault === "cut"
				? first.replace(SEAL, (seal) => seal.slice(0, -4))
				: first;
	caller.read(changed);
	const other: Partial<Record<Fault, object>> = {
		"of another backend": { backend: "two", model },
		"of another model": { backend: "one", model: otherModel },
	};
	const isFailover = fault === "after failover";
	const gateway = isFailover ? create([one, { backend: "two", model }]) : shared(other[fault] ?? one);
	state.isDown = isFailover;
	const account = fault === "of another account" ? "other" : "local";
	const response = await post(gateway, caller, account);
	return { first, seals, response, body: await response.text(), received: bodies.at(-1) ?? "" };
}

describe.each(Object.entries(PROVIDERS))("by %s", (name, provider) => {
	const world = failingWorld(provider);
	// Why a seal cannot be opened matters neither to a stream nor to the interface: `test/backends/seals.test.ts` has the reasons.
	const cases = Object.entries(CALLERS).flatMap(([caller, options]) => [
		...(caller === "chat completions" ? FAULTS : OF_ALL).map((fault) => ({
			caller,
			fault,
			stream: false,
			...options,
		})),
		...OF_ALL.map((fault) => ({ caller, fault, stream: true, ...options })),
	]);

	it.each(cases)("a seal $fault sent by $caller is dropped, stream: $stream", async (options) => {
		const { caller, fault, stream, make, model } = options;
		const made = make(model, stream);
		const { first, seals, response, body, received } = await secondTurn(provider, world, made, fault);
		// Callers of the native route cannot ask Claude to think.
		const isSealed = !(name === "Anthropic" && caller === "the native route");
		expect([seals > 0, first]).toEqual([isSealed, first]);
		expect([response.status, body]).toEqual([200, body]);
		expect(made.read(body)).toEqual({ text: "18 degrees", calls: 0 });
		expect(response.headers.get("x-ganglion-dropped")).toBe(isSealed ? "reasoning.signature" : null);
		expect(received).not.toContain(provider.secret);
		expect(received).not.toMatch(SEAL);
	});
});

/** The beginning of the host's stream, with some of its events. The connection then breaks. */
async function cutAfter(answer: Promise<Response>, events: number): Promise<Response | undefined> {
	const frames = (await (await answer).text()).split(/(?<=\n\n)/);
	if (events >= frames.length) return undefined;
	let sent = 0;
	const body = new ReadableStream<Uint8Array>({
		pull(controller) {
			if (sent === events) controller.error(new TypeError("connection lost"));
			else controller.enqueue(new TextEncoder().encode(frames[sent++]));
		},
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

describe.each(Object.entries(PROVIDERS))("an answer that breaks off at %s", (_, provider) => {
	const { host, models, secret } = provider;
	const callers = Object.entries(CALLERS).filter(([name]) => !/native|without/.test(name));

	it.each(callers)("has the seals of the engine that ends it: %s", async (name, { make, model }) => {
		const answer = hostFetch(host, SCRIPT);
		let events = 1;
		let isWhole = false;
		const { bodies, create, shared } = worldOf(provider, async (request) => {
			if (bodies.length > 1) return answer(request);
			const cut = await cutAfter(answer(request.clone()), events);
			isWhole = cut === undefined;
			return cut ?? answer(request);
		});
		const [one, two] = ["one", "two"].map((name) => ({ backend: name, model: models[0] })) as [
			object,
			object,
		];
		// Where a stream breaks matters to the provider's reader, which one caller shows after each event.
		const step = () => (name === "chat completions" ? 1 : events);
		for (; ; events += step()) {
			bodies.length = 0;
			const caller = make(model, true);
			const first = await (await post(create([one, two]), caller)).text();
			if (isWhole) return;
			// The answer had ended.
			if (bodies.length === 1) continue;
			expect(caller.read(first), `${events} events: ${first}`).toMatchObject({ calls: 1 });
			const second = await post(shared(two), caller);
			const body = await second.text();
			expect([second.status, caller.read(body)]).toEqual([200, { text: "18 degrees", calls: 0 }]);
			// Later the first engine has begun the call, and reasoning cannot come before it any more.
			if (events === 1) expect(bodies.at(-1), first).toContain(secret);
		}
	});
});
