import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { createPools } from "../../src/backends/create-pools.ts";
import { preloadModels } from "../../src/pipeline/preload.ts";
import type { ModelDemand } from "../../src/pools/model-demand.ts";
import { DemandReports } from "../../src/pools/model-demand.ts";
import { Pools } from "../../src/pools/pools.ts";
import { ReplicaChanges } from "../../src/pools/replica-changes.ts";
import { BASE, completion, OPEN_ACCESS, testServices, upstream } from "../gateway.ts";

const CHAT: ModelDemand = { backend: "engines", model: "pool/chat", task: "text-generation" };
const EMBEDDINGS: ModelDemand = { backend: "engines", model: "pool/embed", task: "text-embeddings" };

const TWO = ["http://a/v1", "http://b/v1"];

function gateway(backend: object, fails = "none") {
	const engine = upstream(({ url }) => {
		if (url.includes(fails)) return new Response("no", { status: 500 });
		const usage = { prompt_tokens: 1, total_tokens: 1 };
		return Response.json(
			url.includes("/embed")
				? { embeddings: [[1]], data: [{ index: 0, embedding: [1] }], usage }
				: completion("Hi"),
		);
	});
	const services = testServices({
		vars: {
			BACKENDS: { engines: backend },
			ROUTES: {
				"pool/chat": [{ backend: "engines", model: "m" }],
				"pool/embed": [{ backend: "engines", model: "e" }],
				"*": [{ backend: "engines" }],
			},
			MODELS: { "pool/chat": { task: "Text Generation" }, "pool/embed": { task: "Text Embeddings" } },
		},
		fetch: engine.fetch,
	});
	return { engine, services };
}

/** The calls that load these models, and the failures. */
async function preloaded(demands: readonly ModelDemand[], backend: object, fails?: string) {
	const { engine, services } = gateway(backend, fails);
	const failures: string[] = [];
	await preloadModels(demands, { ...services, log: ({ key }) => failures.push(key) });
	const bodies = await Promise.all(engine.requests.map((request) => request.json()));
	const calls = engine.requests.map(({ url }, i) => [url, bodies[i]] as const);
	// The pool begins with a random replica.
	return { failures, calls: calls.sort(([a], [b]) => a.localeCompare(b)) };
}

describe("a model that is usual at an hour", () => {
	it("is loaded by the smallest request at each replica of an OpenAI-compatible pool", async () => {
		const backend = { kind: "openai", pool: { replicas: TWO, preload: true } };
		const { calls, failures } = await preloaded([CHAT, EMBEDDINGS], backend);
		const chat = { model: "m", max_tokens: 1, messages: [{ role: "user", content: "." }] };
		const embed = { model: "e", input: ["."] };
		expect(calls).toMatchObject([
			["http://a/v1/chat/completions", chat],
			["http://a/v1/embeddings", embed],
			["http://b/v1/chat/completions", chat],
			["http://b/v1/embeddings", embed],
		]);
		expect(failures).toEqual([]);
	});

	it("is loaded by Ollama without a prompt, and stays until the end of the hour", async () => {
		const backend = { kind: "ollama", pool: { replicas: ["http://o:11434"], preload: true } };
		expect((await preloaded([CHAT, EMBEDDINGS], backend)).calls).toEqual([
			["http://o:11434/api/embed", { model: "e", input: ".", keep_alive: "65m" }],
			["http://o:11434/api/generate", { model: "m", stream: false, keep_alive: "65m" }],
		]);
	});

	it("is not loaded without the setting, or if the configuration does not name it any more", async () => {
		const off = { kind: "openai", pool: { replicas: TWO } };
		expect((await preloaded([CHAT], off)).calls).toEqual([]);
		const on = { kind: "openai", pool: { replicas: TWO, preload: true } };
		const gone = [
			{ ...CHAT, backend: "removed" },
			{ ...CHAT, model: "removed" },
			{ ...CHAT, task: "reranking" as const },
		];
		expect(await preloaded(gone, on)).toEqual({ calls: [], failures: [] });
	});

	it("is loaded at the other replicas if one fails, which is logged", async () => {
		const on = { kind: "openai", pool: { replicas: TWO, preload: true } };
		const { calls, failures } = await preloaded([CHAT, EMBEDDINGS], on, "//a/");
		expect(calls).toHaveLength(4);
		expect(failures).toEqual(["executionFailed", "executionFailed"]);
	});

	it("is loaded at the replica of a woken pool, however short its requests wait", async () => {
		const clock = { now: 0 };
		const engine = upstream(({ url }) => {
			if (url === "http://list/") return Response.json(clock.now < 90_000 ? [] : TWO.slice(0, 1));
			return url === "http://scaler/" ? new Response(null) : Response.json(completion("Hi"));
		});
		const persistent = testServices({
			vars: {
				BACKENDS: {
					engines: {
						kind: "openai",
						pool: { discover: "http://list/", wake: { url: "http://scaler/", wait_ms: 0 }, preload: true },
					},
				},
				ROUTES: { "pool/chat": [{ backend: "engines", model: "m" }] },
				MODELS: { "pool/chat": { task: "Text Generation" } },
			},
			fetch: engine.fetch,
		});
		const now = () => clock.now;
		const wait = async (ms: number) => {
			clock.now += ms;
		};
		const waitUntil = () => {};
		const runtime = { fetch: engine.fetch, fleet: undefined, now, wait, waitUntil };
		const pools = createPools({ ...runtime, readChanges: async () => true });
		const failures: unknown[] = [];
		const log = (error: unknown) => void failures.push(error);
		await preloadModels([CHAT], { ...persistent, pools, now, wait, log });
		const urls = engine.requests.map(({ url }) => url).filter((url) => url !== "http://list/");
		expect(urls).toEqual(["http://scaler/", "http://a/v1/chat/completions"]);
		expect(failures).toEqual([]);
	});
});

it.each([
	["a pool that preloads", { preload: true }, ["engines pool/chat text-generation"]],
	["another pool", {}, []],
])("requests for %s report their model, if the catalogue has it", async (_, settings, expected) => {
	const { services } = gateway({ kind: "openai", pool: { replicas: TWO, ...settings } });
	const reported: string[] = [];
	const demandReports = new DemandReports({
		now: () => 0,
		waitUntil: () => {},
		report: async ({ backend, model, task }) => void reported.push(`${backend} ${model} ${task}`),
	});
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const pools = new Pools({ random: () => 0, changes, demandReports });
	const app = createApp({ ...services, pools }, OPEN_ACCESS);
	for (const model of ["pool/chat", "pool/chat", "unknown/model"]) {
		const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] });
		const headers = { "content-type": "application/json" };
		expect((await app.request(`${BASE}/v1/chat/completions`, { method: "POST", body, headers })).status).toBe(
			200,
		);
	}
	expect(reported).toEqual(expected);
});
