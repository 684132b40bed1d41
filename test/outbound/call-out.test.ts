/**
 * Each kind of call out, to a host that answers as none should. The table of docs/security.md has the limits,
 * `test/node/outbound.test.ts` real hosts.
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createPools } from "../../src/backends/create-pools.ts";
import { getText } from "../../src/backends/transport/get-text.ts";
import { FairLine } from "../../src/core/fair-line.ts";
import { startNativeTimer } from "../../src/core/lazy-timer.ts";
import { PROCESS_COUNTS } from "../../src/core/process-counts.ts";
import { Gateways } from "../../src/gateways/client/gateways.ts";
import { OtelExporter } from "../../src/gateways/client/otel-exporter.ts";
import { DEFAULT_SETTINGS } from "../../src/gateways/settings.ts";
import { PAGE_CALL } from "../../src/outbound/limits.ts";
import { Discoveries } from "../../src/pools/discovery.ts";
import { fetchPage } from "../../src/retrieval/search/sources/fetch-page.ts";
import { callStore } from "../../src/retrieval/vectors/stores/json-call.ts";
import { s3Contents } from "../../src/storage/blobs/s3-contents.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { eventWork } from "../../src/surfaces/jobs/event-work.ts";
import { newAccount } from "../accounts/fixtures.ts";
import { BASE, CALLER, delta, NOW, OPEN_ACCESS, testServices } from "../gateway.ts";
import { droppedOf } from "../gateways/client/dropped.ts";
import { ADMIN, closedGateway } from "../http/access.ts";

const KIB = 1024;
/** Timers run this many times faster. */
const SPEED = 300;
const PIECE_BYTES = 64 * KIB;
const PRIVATE = "http://169.254.169.254/latest/meta-data/";
const HOST = "https://host.example";

type Behaviour =
	| "silent"
	| "silent amid"
	| "endless"
	| "redirect to a private address"
	| "redirect to itself";

/** A host with one behaviour. */
function scriptedHost(behaviour: Behaviour) {
	const urls: string[] = [];
	let open = 0;
	let sentBytes = 0;
	const answer = (url: string, signal: AbortSignal, isStream: boolean): Promise<Response> | Response => {
		// Its bytes end it, however long a busy machine takes for them.
		isTimeStill = behaviour === "endless" && !isStream;
		const close = once(() => open--);
		if (behaviour.startsWith("redirect")) {
			close();
			const location = behaviour === "redirect to itself" ? url : PRIVATE;
			return new Response(null, { status: 302, headers: { location } });
		}
		const aborted = new Promise<never>((_, reject) =>
			signal.addEventListener("abort", () => {
				close();
				reject(signal.reason);
			}),
		);
		aborted.catch(() => {});
		if (behaviour === "silent") return aborted;
		const piece = isStream ? delta("word ") : " ".repeat(PIECE_BYTES);
		let pieces = 0;
		const body = new ReadableStream<Uint8Array>({
			async pull(controller) {
				if (behaviour === "silent amid" && pieces > 0) await aborted;
				if (isStream) await Promise.race([pause(5), aborted]);
				else if (signal.aborted) await aborted;
				pieces++;
				sentBytes += piece.length;
				controller.enqueue(new TextEncoder().encode(piece));
			},
			cancel: close,
		});
		const type = isStream ? "text/event-stream" : "application/json";
		return new Response(body, { headers: { "content-type": type } });
	};
	const fetch: typeof globalThis.fetch = async (input, init = {}) => {
		const url = String(input);
		urls.push(url);
		open++;
		const { signal } = init;
		if (!signal) throw new Error("the call has no signal");
		return answer(url, signal, String(init.body).includes('"stream":true'));
	};
	return { fetch, urls, open: () => open, sentBytes: () => sentBytes };
}

function once(action: () => void): () => void {
	let isDone = false;
	return () => {
		if (!isDone) action();
		isDone = true;
	};
}

const nativeTimeout = setTimeout;
const nativeClear = clearTimeout;
const STEP_MS = 5;

/**
 * A timer that runs {@link SPEED} times faster, in steps: all timers go on by one step if the machine stops for a moment, so that the
 * shorter of two limits always ends first. It makes no step while time stands still.
 */
function fastTimeout(action: () => void, milliseconds: number): number {
	const id = ++lastTimer;
	let left = milliseconds / SPEED;
	const next = () => {
		const step = Math.min(left, STEP_MS);
		steps.set(
			id,
			nativeTimeout(() => {
				if (!isTimeStill) left -= step;
				if (left > 0) return next();
				steps.delete(id);
				action();
			}, step),
		);
	};
	next();
	return id;
}
let lastTimer = 1e9;
let isTimeStill = false;
/** The current step of each timer. */
const steps = new Map<unknown, ReturnType<typeof setTimeout>>();
const pause = (milliseconds: number): Promise<void> =>
	new Promise((resolve) => void nativeTimeout(resolve, milliseconds));

/** What a caller or an operator sees. */
type Kind = (fetch: typeof globalThis.fetch) => Promise<string>;

/** The status and the message of a failure, or how the body ends. */
async function seen(response: Response): Promise<string> {
	try {
		const text = await response.text();
		return `${response.status} ${text}`;
	} catch (error) {
		return `${response.status}, then ${String(error)}`;
	}
}

/** In the same steps as the timers. */
let time = NOW;
let clock: ReturnType<typeof setTimeout> | undefined;
function runClock(): void {
	clock = nativeTimeout(() => {
		if (!isTimeStill) time += STEP_MS * SPEED;
		runClock();
	}, STEP_MS);
}
const CLOCK = { startTimer: startNativeTimer, now: () => time };
const app = (vars: Record<string, unknown>, fetch: typeof globalThis.fetch) =>
	createApp({ ...testServices({ vars, fetch }), ...CLOCK }, OPEN_ACCESS);
const post = (body: object): RequestInit => ({
	method: "POST",
	body: JSON.stringify(body),
	headers: { "content-type": "application/json" },
});
const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const MESSAGES = [{ role: "user", content: "Hi" }];
const model =
	(stream: boolean): Kind =>
	async (fetch) => {
		const vars = { BACKENDS: { engine: { kind: "openai", url: `${HOST}/v1` } }, DEFAULT_BACKEND: "engine" };
		const chat = { model: MODEL, messages: MESSAGES, stream };
		return seen(await app(vars, fetch).request(`${BASE}/v1/chat/completions`, post(chat)));
	};

const store = (fetch: typeof globalThis.fetch) =>
	s3Contents(
		{
			...{ endpoint: HOST, region: "auto", bucket: "files", prefix: "", pathStyle: true },
			...{ accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "secret" },
		},
		{ fetch, wait: async () => {} },
	);
const failureText = (work: Promise<unknown>): Promise<string> =>
	work.then(
		() => "no failure",
		(error: Error) => `${error.message}: ${error.cause instanceof Error ? error.cause.message : ""}`,
	);

/** Runs what a call leaves in the background. */
function background() {
	const works: Promise<unknown>[] = [];
	const end = async (): Promise<void> => {
		for (let done = -1; done < works.length; ) {
			done = works.length;
			await Promise.all(works);
		}
	};
	return { waitUntil: (work: Promise<unknown>) => void works.push(work), end };
}
const pools = (fetch: typeof globalThis.fetch, waitUntil: (work: Promise<unknown>) => void) =>
	createPools({
		...{ fetch, fleet: undefined, now: () => 0, wait: async () => {}, waitUntil },
		readChanges: async () => true,
	});

async function collect(fetch: typeof globalThis.fetch): Promise<string> {
	const account = newAccount();
	const otel = [{ url: `${HOST}/v1/trace` }];
	await env.GATEWAYS.getByName(account).create("main", { ...DEFAULT_SETTINGS, otel });
	const { end, waitUntil } = background();
	const failures: unknown[] = [];
	const failed = (cause: unknown) => void failures.push(cause);
	const otelExporter = new OtelExporter({
		...{ now: () => NOW, wait: async () => {}, waitUntil, failed },
		exportLine: new FairLine({ name: "exports", max: 10, now: () => 0 }),
	});
	const services = {
		...testServices({ vars: { DEFAULT_BACKEND: "simulator" }, fetch }),
		gateways: new Gateways({ registry: (name) => env.GATEWAYS.getByName(name), now: () => NOW }),
		otelExporter,
	};
	const step = { provider: "workers-ai", endpoint: MODEL, headers: {}, query: { prompt: "Hi" } };
	const request = new Request("https://workers-binding.ai/ai-gateway/universal/run/main", post([step]));
	const response = await wireOf(services).fetch(request, { caller: { ...CALLER, account } });
	await response.text();
	await end();
	return `${response.status}, ${droppedOf(otelExporter)} dropped: ${failures.join()}`;
}

const KINDS: Record<string, Kind> = {
	"a model, whole": model(false),
	"a model, streamed": model(true),
	"a provider": async (fetch) => {
		const { account, services } = closedGateway({ fetch });
		const closed = createApp({ ...services, ...CLOCK }, { allowAnonymous: false, adminToken: ADMIN });
		const response = await closed.request(
			`http://gateway/v1/${account}/default/openai/files/file-1/content`,
			{
				headers: {
					authorization: "Bearer sk-of-the-caller-0123456789",
					"cf-aig-authorization": `Bearer ${ADMIN}`,
				},
			},
		);
		if (response.status !== 200) return seen(response);
		// The caller leaves after a megabyte.
		const reader = response.body?.getReader();
		try {
			for (let bytes = 0; bytes < 1024 * KIB; )
				bytes += (await reader?.read())?.value?.byteLength ?? Number.POSITIVE_INFINITY;
			await reader?.cancel();
			return "200, the caller leaves";
		} catch (error) {
			return `200, then ${String(error)}`;
		}
	},
	"a web search": async (fetch) => {
		const vars = { WEB_SEARCH: { own: { kind: "searxng", url: HOST } } };
		const search = { query: "alarms", options: { gateway: { id: "default" } } };
		return seen(await app(vars, fetch).request(`${BASE}/websearch/`, post(search)));
	},
	"a collector": collect,
	"the replicas of a pool": async (fetch) => {
		const discoveries = new Discoveries({
			...{ now: () => 0, wait: async () => {}, waitUntil: () => {} },
			read: (url) => getText({ url, headers: {}, fetch }),
		});
		await discoveries.refreshNow("pool", { url: HOST, path: "/v1", refreshMs: 1_000 });
		return discoveries.problemOf("pool") ?? "no problem";
	},
	"the service that starts replicas": async (fetch) => {
		const { end, waitUntil } = background();
		const settings = { url: HOST, cooldownMs: 1_000, waitMs: 0 };
		pools(fetch, waitUntil).wakeCalls?.call("pool", settings);
		await end();
		return "ended";
	},
	"an object of a store": async (fetch) => {
		const read = store(fetch).read("name", { offset: 0, length: 256 * KIB });
		return failureText(read.then((body) => new Response(body ?? null).text()));
	},
	"a text of a store": (fetch) => failureText(store(fetch).abandon?.(["name"]) ?? Promise.resolve()),
	"a webhook of batches": (fetch) => {
		const webhook = { url: `${HOST}/batches`, secret: new Uint8Array(24) };
		const services = {
			...{ fetch, gatewayRules: { allowPrivateAddresses: false }, now: () => NOW },
			jobSettings: { webhooks: new Map([["local", webhook]]) },
		};
		const payload = { receiver: "webhook", event: { id: "evt_1" } };
		return failureText(eventWork(services as never).run({ account: "local", payload } as never));
	},
	"a store of vectors over HTTP": (fetch) => {
		const services = { ...CLOCK, fetch, wait: async () => {}, connect: () => expect.unreachable() };
		return callStore({ method: "GET", url: HOST, headers: {} }, { name: "own" }, services).then(
			({ status }) => `${status}`,
			({ status, message }) => `${status} ${message}`,
		);
	},
	"a page of a website": async (fetch) => {
		const { signal } = new AbortController();
		const request = { url: HOST, maxBytes: PAGE_CALL.maxBytes };
		return JSON.stringify(await fetchPage(request, { fetch, signal, now: () => NOW }));
	},
};

/** The delay of each timer that was started, in milliseconds. */
const delays: number[] = [];
beforeEach(() => {
	delays.length = 0;
	isTimeStill = false;
	runClock();
	vi.stubGlobal("setTimeout", (action: () => void, milliseconds = 0) => {
		delays.push(milliseconds);
		return fastTimeout(action, milliseconds);
	});
	vi.stubGlobal("clearTimeout", (timer: number) => {
		nativeClear(steps.get(timer) ?? timer);
		steps.delete(timer);
	});
});
afterEach(() => {
	nativeClear(clock);
	vi.unstubAllGlobals();
});

interface Expected {
	/** The limit in milliseconds that ends a silent host, before its header and amid its answer. */
	silentMs: [beforeHeader: number, amid: number | undefined];
	silent: RegExp;
	silentAmid: RegExp;
	endless: RegExp;
	/** Of an endless body that are read. The stream may have as much as 2 pieces more. */
	maxBytes: number;
	redirect: RegExp;
	/** Calls of a silent host. */
	tries?: number;
}
const MIB = 1024 * KIB;
const EXPECTED: Record<string, Expected> = {
	"a model, whole": {
		silentMs: [600_000, 60_000],
		silent: /^408 .*took longer than 600000 ms/,
		silentAmid: /^408 .*was silent for 60000 ms/,
		endless: /^413 .*a reply above 25165824 bytes/,
		maxBytes: 24 * MIB,
		redirect: /^502 .*redirects, which is not followed/,
	},
	"a model, streamed": {
		silentMs: [60_000, 60_000],
		silent: /^408 .*was silent for 60000 ms/,
		silentAmid: /^200 data: .*"word "[\s\S]*was silent for 60000 ms/,
		endless: /^200 data: .*"word "[\s\S]*took longer than 600000 ms/,
		maxBytes: MIB,
		redirect: /^502 .*redirects, which is not followed/,
	},
	"a provider": {
		silentMs: [600_000, 300_000],
		silent: /^504 .*did not answer within 600000 ms/,
		silentAmid: /^200, then .*did not answer within 300000 ms/,
		endless: /^200, the caller leaves/,
		maxBytes: MIB,
		// It is returned to the caller.
		redirect: /^302 $/,
	},
	"a web search": {
		silentMs: [30_000, 20_000],
		silent: /^504 .*web_search_timeout/,
		silentAmid: /^504 .*web_search_timeout/,
		endless: /^503 .*web_search_unavailable/,
		maxBytes: 24 * MIB,
		redirect: /^503 .*web_search_unavailable/,
	},
	"a collector": {
		silentMs: [10_000, undefined],
		silent: /^200, 1 dropped: TimeoutError/,
		silentAmid: /^200, 0 dropped/,
		endless: /^200, 0 dropped/,
		maxBytes: 0,
		redirect: /^200, 1 dropped: Error: The collector answered with status 302/,
	},
	"the replicas of a pool": {
		silentMs: [2_000, 2_000],
		silent: /found no answer of the service/,
		silentAmid: /found no answer of the service/,
		endless: /found no answer of the service/,
		maxBytes: MIB,
		redirect: /found no answer of the service/,
	},
	"the service that starts replicas": {
		silentMs: [10_000, undefined],
		silent: /^ended/,
		silentAmid: /^ended/,
		endless: /^ended/,
		maxBytes: 0,
		redirect: /^ended/,
	},
	"an object of a store": {
		silentMs: [60_000, 60_000],
		silent: /failed: The store does not answer/,
		silentAmid: /failed: The store does not continue its answer/,
		// As long as was requested.
		endless: /^no failure/,
		maxBytes: 256 * KIB,
		redirect: /was answered with 302/,
		tries: 3,
	},
	"a text of a store": {
		silentMs: [60_000, 60_000],
		silent: /failed: The store does not answer/,
		silentAmid: /failed: The store does not answer/,
		endless: /was answered with 200: The answer is longer than 4194304 bytes/,
		maxBytes: 4 * MIB,
		redirect: /was answered with 302/,
		tries: 3,
	},
	"a webhook of batches": {
		silentMs: [20_000, undefined],
		silent: /^No answer within 20000 ms/,
		silentAmid: /^no failure/,
		endless: /^no failure/,
		maxBytes: 0,
		redirect: /^The webhook answered with status 302/,
	},
	"a store of vectors over HTTP": {
		silentMs: [30_000, 30_000],
		silent: /^502 .*"own" did not answer within 30000 ms/,
		silentAmid: /^502 .*"own" did not answer within 30000 ms/,
		endless: /^502 .*"own" has sent more than 67108864 bytes/,
		maxBytes: 64 * MIB,
		redirect: /^302$/,
	},
	"a page of a website": {
		silentMs: [20_000, 20_000],
		silent: /the server did not answer within 20 s/,
		silentAmid: /the server did not answer within 20 s/,
		endless: /over_size: the page has more than 4194304 bytes/,
		maxBytes: 4 * MIB,
		// Its target is another page, with checks of its own.
		redirect: /^\{"kind":"redirect"/,
	},
};

/** A part of a limit has passed when its timer starts. */
const expectDelay = (limitMs: number): void =>
	expect(delays.filter((delay) => delay > limitMs * 0.5 && delay <= limitMs)).not.toEqual([]);

describe.each(Object.entries(KINDS))("%s", (kind, run) => {
	const expected = EXPECTED[kind] as Expected;

	/** Nothing stays open or counted. */
	async function outcomeOf(behaviour: Behaviour) {
		const used = (): number[] => PROCESS_COUNTS.map((count) => count.report().used);
		// Other tests of this process may not have released everything yet.
		const before = used();
		const host = scriptedHost(behaviour);
		const outcome = await run(host.fetch);
		await vi.waitFor(() => {
			expect(host.open()).toBe(0);
			for (const [i, count] of used().entries()) expect(count).toBeLessThanOrEqual(before[i] ?? 0);
		}, 5_000);
		return { host, outcome };
	}

	// The first call loads modules, for which the fast timers do not wait.
	beforeAll(() => outcomeOf("redirect to itself"));

	it("ends if the host accepts and never answers", async () => {
		const { host, outcome } = await outcomeOf("silent");
		expect(outcome).toMatch(expected.silent);
		expectDelay(expected.silentMs[0]);
		expect(host.urls.length).toBe(expected.tries ?? 1);
	});

	it("ends if the host is silent amid its answer", async () => {
		const { outcome } = await outcomeOf("silent amid");
		expect(outcome).toMatch(expected.silentAmid);
		if (expected.silentMs[1] !== undefined) expectDelay(expected.silentMs[1]);
	});

	it("reads a bounded part of an endless body", async () => {
		const { host, outcome } = await outcomeOf("endless");
		expect(outcome).toMatch(expected.endless);
		expect(host.sentBytes()).toBeLessThanOrEqual(expected.maxBytes + host.urls.length * 2 * PIECE_BYTES);
	});

	it.each<Behaviour>(["redirect to a private address", "redirect to itself"])(
		"follows no %s",
		async (behaviour) => {
			const { host, outcome } = await outcomeOf(behaviour);
			expect(outcome).toMatch(expected.redirect);
			expect(host.urls.length).toBe(1);
		},
	);
});
