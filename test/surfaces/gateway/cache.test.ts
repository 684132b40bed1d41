import { describe, expect, it } from "vitest";
import { ResponseCaches } from "../../../src/gateways/client/response-caches.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const TTL = { "cf-aig-cache-ttl": "60" };

/** A gateway of a new account, with an engine. */
function gateway(reply: (request: Request) => Response | Promise<Response>, replaced: object = {}) {
	const engine = upstream(reply);
	const background: Promise<unknown>[] = [];
	const services = {
		...testServices({ vars: ENGINE_VARS, fetch: engine.fetch }),
		waitUntil: (work: Promise<unknown>) => void background.push(work.catch(() => {})),
		...replaced,
	};
	const account = `team-${crypto.randomUUID()}`;
	const app = wireOf(services);
	const run = async (
		inputs: object,
		{ headers = TTL, id = "main", caller = account }: { headers?: object; id?: string; caller?: string } = {},
	) => {
		const step = { provider: "workers-ai", endpoint: LLAMA, headers, query: inputs };
		const request = new Request(`https://workers-binding.ai/ai-gateway/universal/run/${id}`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify([step]),
		});
		return app.fetch(request, { caller: { ...CALLER, account: caller } });
	};
	return {
		calls: () => engine.requests.length,
		run,
		services,
		/** Waits until all answers are stored. */
		settled: async () => {
			for (let done = 0; done < background.length; done = background.length) await Promise.all(background);
		},
	};
}

const statusOf = ({ headers }: Response) => headers.get("cf-aig-cache-status");
const hello = () => {
	let calls = 0;
	return gateway(() => Response.json(completion(`Hello ${++calls}`)));
};

describe("the cache of a gateway", () => {
	it("answers an equal request byte for byte, without calling the engine and without cost", async () => {
		const { run, calls, settled } = hello();
		const first = await run({ prompt: "Hi", max_tokens: 9 });
		expect(statusOf(first)).toBe("MISS");
		const text = await first.text();
		await settled();
		const second = await run({ max_tokens: 9, prompt: "Hi" });
		expect(statusOf(second)).toBe("HIT");
		expect(await second.text()).toBe(text);
		expect(calls()).toBe(1);
		const { headers } = second;
		expect(headers.get("content-type")).toBe("application/json");
		expect(headers.get("cf-ai-neurons")).toBe("0.00");
		expect(headers.get("cf-aig-step")).toBe("0");
		expect(headers.get("cf-aig-request-id")).not.toBe(first.headers.get("cf-aig-request-id"));
		expect(headers.has("x-ganglion-backend")).toBe(false);
	});

	it("is off without a time and without a key", async () => {
		const { run, calls, settled } = hello();
		for (const headers of [{}, {}, { "cf-aig-cache-ttl": "59" }, { "cf-aig-cache-ttl": "0" }]) {
			const response = await run({ prompt: "Hi" }, { headers });
			expect(statusOf(response)).toBe("MISS");
			await response.text();
			await settled();
		}
		expect(calls()).toBe(4);
	});

	it("does not read and does not replace the answer of a request that skips it", async () => {
		const { run, settled } = hello();
		const stored = await (await run({ prompt: "Hi" })).text();
		await settled();
		const skipped = await run({ prompt: "Hi" }, { headers: { ...TTL, "cf-aig-skip-cache": "true" } });
		expect(statusOf(skipped)).toBe("MISS");
		expect(await skipped.text()).not.toBe(stored);
		await settled();
		expect(await (await run({ prompt: "Hi" })).text()).toBe(stored);
	});

	it("answers any inputs with the same key of the caller", async () => {
		const { run, calls, settled } = hello();
		const headers = { "cf-aig-cache-key": "greeting" };
		const text = await (await run({ prompt: "Hi" }, { headers })).text();
		await settled();
		expect(await (await run({ prompt: "Hello" }, { headers })).text()).toBe(text);
		expect(calls()).toBe(1);
	});

	it("never answers one account or gateway with the answer of another", async () => {
		const { run, calls, settled } = hello();
		const headers = { "cf-aig-cache-key": "shared" };
		const accounts = Array.from({ length: 10 }, (_, nth) => `tenant-${nth}-${crypto.randomUUID()}`);
		const answers = await Promise.all(
			accounts.flatMap((caller) =>
				["main", "other"].map(async (id) => (await run({ prompt: "Hi" }, { headers, caller, id })).text()),
			),
		);
		expect(new Set(answers).size).toBe(20);
		await settled();
		const again = await Promise.all(
			accounts.flatMap((caller) =>
				["main", "other"].map(async (id) => (await run({ prompt: "Hi" }, { headers, caller, id })).text()),
			),
		);
		expect(again).toEqual(answers);
		expect(calls()).toBe(20);
	});

	it("replays a complete stream byte for byte, as a stream", async () => {
		const { run, calls, settled } = gateway(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		const first = await run({ prompt: "Hi", stream: true });
		const text = await first.text();
		expect(text).toContain("data: [DONE]");
		await settled();
		const second = await run({ prompt: "Hi", stream: true });
		expect(statusOf(second)).toBe("HIT");
		expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"));
		expect(second.headers.has("cf-ai-neurons")).toBe(false);
		expect(await second.text()).toBe(text);
		expect(calls()).toBe(1);
	});

	it.each([
		["is cut", (live: ReturnType<typeof liveEvents>) => live.end()],
		["fails", (live: ReturnType<typeof liveEvents>) => live.fail(new Error("broken"))],
	])("does not store a stream that %s", async (_, interrupt) => {
		const { run, calls, settled } = gateway(() => {
			const live = liveEvents();
			live.send(delta("Hel"));
			interrupt(live);
			return live.response;
		});
		for (let nth = 1; nth <= 2; nth++) {
			const response = await run({ prompt: "Hi", stream: true });
			expect(statusOf(response)).toBe("MISS");
			await response.text().catch(() => "");
			await settled();
			expect(calls()).toBeGreaterThanOrEqual(nth);
		}
	});

	it("does not store a stream that its caller cancels", async () => {
		const { run, settled } = gateway(() => {
			const live = liveEvents();
			for (const frame of [delta("Hel"), delta("lo")]) live.send(frame);
			return live.response;
		});
		for (let nth = 0; nth < 2; nth++) {
			const response = await run({ prompt: "Hi", stream: true });
			expect(statusOf(response)).toBe("MISS");
			const reader = response.body?.getReader();
			await reader?.read();
			await reader?.cancel();
			await settled();
		}
	});

	it("does not store failures", async () => {
		const { run, calls, settled } = gateway(() =>
			Response.json({ error: { message: "no" } }, { status: 400 }),
		);
		for (let nth = 1; nth <= 2; nth++) {
			const response = await run({ prompt: "Hi" });
			expect([response.status, statusOf(response)]).toEqual([400, "MISS"]);
			await response.text();
			await settled();
			expect(calls()).toBe(nth);
		}
	});

	it("does not store answers above the limit of an entry", async () => {
		const services = testServices({ vars: ENGINE_VARS });
		const { run, calls, settled } = gateway(() => Response.json(completion("Hello".repeat(100))), {
			limits: { ...services.limits, cacheEntryBytes: 500 },
		});
		for (let nth = 1; nth <= 2; nth++) {
			await (await run({ prompt: "Hi" })).text();
			await settled();
			expect(calls()).toBe(nth);
		}
	});

	it("calls the model while the object cannot be called", async () => {
		const causes: unknown[] = [];
		const responseCaches = new ResponseCaches({
			object: () => {
				throw new Error("object broken");
			},
			now: () => Date.now(),
			failed: (cause) => causes.push(cause),
		});
		const { run, calls, settled } = gateway(() => Response.json(completion("Hello")), { responseCaches });
		for (let nth = 1; nth <= 2; nth++) {
			const response = await run({ prompt: "Hi" });
			expect([response.status, statusOf(response)]).toEqual([200, "MISS"]);
			await response.text();
			await settled();
			expect(calls()).toBe(nth);
		}
		// Nothing is written after a read that failed.
		expect(causes).toHaveLength(2);
	});

	it("answers the second step of a request from the cache if the first fails", async () => {
		const { services, settled } = hello();
		const app = wireOf(services);
		const caller = { ...CALLER, account: `team-${crypto.randomUUID()}` };
		const steps = [
			{ provider: "nowhere", endpoint: "x", headers: TTL, query: {} },
			{ provider: "workers-ai", endpoint: LLAMA, headers: TTL, query: { prompt: "Hi" } },
		];
		const run = async () =>
			app.fetch(
				new Request("https://workers-binding.ai/ai-gateway/universal/run/main", {
					method: "POST",
					body: JSON.stringify(steps),
				}),
				{ caller },
			);
		await (await run()).text();
		await settled();
		const response = await run();
		expect([response.headers.get("cf-aig-step"), statusOf(response)]).toEqual(["1", "HIT"]);
	});
});
