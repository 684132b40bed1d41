/** A gateway inside the Worker of the test: real configuration, a fixed clock, sequential ids, and a fake upstream. */
import { connect } from "cloudflare:sockets";
import { env } from "cloudflare:workers";
import type { Hono } from "hono";
import { REPORTED_OBJECTS } from "../src/accounts/used-objects.ts";
import { createApp } from "../src/app.ts";
import { type Config, configure } from "../src/config/index.ts";
import { lazy } from "../src/core/lazy.ts";
import type { Access } from "../src/http/credentials.ts";
import { adapterFinder } from "../src/jobs/client/account-adapters.ts";
import { Jobs, jobCalls } from "../src/jobs/client/jobs.ts";
import { createPersistent } from "../src/persistent-services.ts";
import type { Caller } from "../src/pipeline/request.ts";
import { StoredResponses, storeCalls } from "../src/responses/client/stored-responses.ts";
import { convertFile } from "../src/retrieval/documents/convert-file.ts";
import { SearchInstances, searchObjects } from "../src/retrieval/search/client/search-instances.ts";
import { QueryCounts } from "../src/retrieval/vectors/client/query-counts.ts";
import { VectorIndexes } from "../src/retrieval/vectors/client/vector-indexes.ts";
import { vectorObjects } from "../src/retrieval/vectors/client/vector-objects.ts";
import { servicesOf } from "../src/services.ts";
import { apiFiles } from "../src/surfaces/operations/api-files.ts";
import type { AppServices } from "../src/surfaces/services.ts";
import { observersOf } from "../src/telemetry/exchange-observer.ts";
import { surfaceLog } from "../src/telemetry/failure-counts.ts";
import "./alarms-ahead.ts";

export const NOW = Date.parse("2026-11-21T12:00:00Z");
export const BASE = "http://gateway/client/v4/accounts/local/ai";

/** Tests send more requests of one account than the default rates allow. */
const UNLIMITED = { requests_per_minute: "none" };

/** The static files of the deployment. */
const FILES: ReadonlyMap<string, string> = new Map([
	["index.html", "<!doctype html>"],
	["index-1a2B_c-d.js", "export {};"],
	["notices.txt", "MIT"],
]);

const madeFiles = lazy(apiFiles);

/** For a gateway without credentials, at the host of {@link BASE}. */
export const OPEN_ACCESS: Access = { allowAnonymous: true, allowedHosts: ["gateway"] };

/** A verified caller, for entry points that get the caller as an argument. */
export const CALLER: Caller = { account: "local", credential: { kind: "operator" }, verified: true };

export interface TestGateway {
	app: Hono;
	services: AppServices;
	/** POST with JSON, below `/ai`. */
	post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
	get(path: string): Promise<Response>;
}

export interface TestOptions {
	vars?: Record<string, unknown>;
	fetch?: typeof fetch;
}

const configurations = new Map<string, Config>();

/** Equal variables are parsed once. So a test that replaces a method of the catalogue or a table restores it. */
function configurationOf(vars: Record<string, unknown>): Config {
	let isData = true;
	const text = JSON.stringify(vars, (_, value) => {
		isData &&=
			typeof value !== "object" ||
			value === null ||
			[Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value));
		isData &&= typeof value !== "function";
		return value;
	});
	if (!isData) return configure(vars);
	const config = configurations.get(text) ?? configure(vars);
	configurations.set(text, config);
	return config;
}

export function testServices({
	vars = { DEFAULT_BACKEND: "simulator" },
	fetch,
}: TestOptions = {}): AppServices {
	let ids = 0;
	// The ids repeat in each test, and an account accepts each id once. Therefore each test has its own accounts.
	const suffix = crypto.randomUUID().slice(0, 8);
	const config = configurationOf({ ...vars, LIMITS: { ...UNLIMITED, ...(vars.LIMITS ?? {}) } });
	const services = servicesOf(
		config,
		createPersistent(env, {
			...config,
			gatewayRules: { ...config.gatewayRules, anyGateway: true },
		}),
	);
	const ledgers: AppServices["ledgers"] = { of: (account) => services.ledgers.of(`${account}-${suffix}`) };
	const storedResponses = new StoredResponses({
		object: (account) => storeCalls(env.RESPONSE_STORE, `${account}-${suffix}`),
		bounds: config.storeBounds,
		now: () => NOW,
	});
	const objects = vectorObjects(env);
	const counted = {
		now: () => NOW,
		uuid: () => crypto.randomUUID(),
		wait: async () => {},
		waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}),
	};
	const vectorIndexes = new VectorIndexes({
		...{ ...counted, fetch: fetch ?? services.fetch, connect },
		queryCounts: new QueryCounts({
			...{ ...counted, keepAlive: counted.waitUntil },
			report: (account, report) => objects.registry(`${account}-${suffix}`).countQueries(report),
		}),
		registry: (account) => objects.registry(`${account}-${suffix}`),
		index: objects.index,
		settings: config.vectors,
	});
	const searches = searchObjects(env);
	const searchInstances = new SearchInstances({
		searchRegistry: (account) => searches.searchRegistry(`${account}-${suffix}`),
		searchInstance: searches.searchInstance,
		settings: config.search,
		now: () => NOW,
		uuid: () => crypto.randomUUID(),
	});
	const jobs = new Jobs({
		object: (account) => jobCalls(env.JOB_STORE, `${account}-${suffix}`),
		bounds: config.jobs.bounds,
	});
	const storage: AppServices["storage"] = {
		...services.storage,
		blobs: (account) => services.storage.blobs(`${account}-${suffix}`),
	};
	// Tests cause failures on purpose. The log has its own test: test/telemetry/log.test.ts.
	const log = () => {};
	return {
		...services,
		ledgers,
		storedResponses,
		vectorIndexes,
		searchInstances,
		jobs,
		storage,
		// The clients above record nothing.
		usedObjects: { of: async () => new Set(REPORTED_OBJECTS), mayReport: () => true },
		findAdapter: adapterFinder({ jobs, storage, engineFolders: services.engineFolders }),
		observers: observersOf({ log }),
		now: () => NOW,
		uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
		random: () => 0,
		log,
		// A test runs in no request, so the runtime's `waitUntil` does not apply.
		waitUntil: (promise) => void promise.catch(() => {}),
		convertDocument: convertFile,
		assets: async (file) => {
			const text = FILES.get(file) ?? madeFiles()[file];
			return new Response(text ?? null, { status: text === undefined ? 404 : 200 });
		},
		...(fetch && { fetch }),
	};
}

export function testGateway(options: TestOptions = {}): TestGateway {
	const services = testServices(options);
	const app = createApp(services, OPEN_ACCESS);
	return {
		app,
		services,
		post: async (path, body, init = {}) =>
			app.request(`${BASE}${path}`, {
				method: "POST",
				body: JSON.stringify(body),
				...init,
				headers: { "content-type": "application/json", ...init.headers },
			}),
		get: async (path) => app.request(`${BASE}${path}`),
	};
}

/** An upstream that answers every request with `reply`, and records the requests. */
export function upstream(reply: (request: Request) => Response | Promise<Response>): {
	fetch: typeof fetch;
	requests: Request[];
} {
	const requests: Request[] = [];
	return {
		requests,
		fetch: async (input, init) => {
			const request = new Request(input, init);
			requests.push(request.clone());
			return reply(request);
		},
	};
}

/** Variables that route every model to one OpenAI-compatible engine. */
export const ENGINE_VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1", key: "ENGINE_KEY" } },
	ROUTES: { "*": [{ backend: "engine", model: "engine-model" }] },
	ENGINE_KEY: "sk-engine-secret",
};

export const completion = (content: string): object => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: 1,
	model: "engine-model",
	choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
	usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

const chunk = (choices: unknown[], extra: object = {}): string =>
	`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "engine-model", choices, ...extra })}\n\n`;

export const delta = (content: string): string =>
	chunk([{ index: 0, delta: { content }, finish_reason: null }]);
/** With the role, which OpenAI's SDK requires: a stream that begins so needs no change. */
export const firstDelta = (content: string): string =>
	chunk([{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]);
export const finish = (reason = "stop"): string => chunk([{ index: 0, delta: {}, finish_reason: reason }]);
export const usage = (): string =>
	chunk([], { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
export const DONE = "data: [DONE]\n\n";

export const events = (...frames: string[]): Response =>
	new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });

/** An event stream that the test writes. `cancelled` resolves when its reader cancels. */
export function liveEvents(): {
	response: Response;
	send(frame: string): void;
	fail(error: unknown): void;
	end(): void;
	cancelled: Promise<unknown>;
} {
	const encoder = new TextEncoder();
	let control!: ReadableStreamDefaultController<Uint8Array>;
	const { promise: cancelled, resolve } = Promise.withResolvers<unknown>();
	const body = new ReadableStream<Uint8Array>({
		start: (controller) => {
			control = controller;
		},
		cancel: (reason) => resolve(reason),
	});
	return {
		response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
		send: (frame) => control.enqueue(encoder.encode(frame)),
		fail: (error) => control.error(error),
		end: () => control.close(),
		cancelled,
	};
}

/** Replaces some services, also for the observers. */
export const replaceServices = <T extends AppServices>(
	services: T,
	replaced: Partial<Pick<AppServices, "ledgers" | "log">>,
): T => {
	const all = { ...services, ...replaced };
	const { log, requestTimes } = all;
	const observers = [...observersOf({ log }), requestTimes];
	return { ...all, log: surfaceLog(log), observers };
};
