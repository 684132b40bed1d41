import { describe, expect, it } from "vitest";
import type { Settlement } from "../../src/accounts/admission.ts";
import { createApp } from "../../src/app.ts";
import { openaiChat } from "../../src/dialects/chat/openai-route.ts";
import { run } from "../../src/pipeline/run.ts";
import {
	BASE,
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	OPEN_ACCESS,
	replaceServices,
	testServices,
	usage,
} from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const INPUTS = { model: LLAMA, messages: [{ role: "user", content: "Hi" }] };

type Bill = [header: string | null, told: number | undefined];

describe("an answer that cannot be written", () => {
	it("lets its engine go, whatever the writer has done with the stream", async () => {
		for (const take of [false, true]) {
			const live = liveEvents();
			const services = testServices({ vars: ENGINE_VARS, fetch: async () => live.response });
			const { reader } = openaiChat;
			const writer: typeof openaiChat.writer = {
				write({ answer }) {
					if (take && answer.kind === "stream") answer.events.getReader();
					throw new Error("no words");
				},
			};
			live.send(delta("Hel"));
			const { signal } = new AbortController();
			const answered = run(
				{
					id: services.uuid(),
					caller: { ...CALLER },
					model: LLAMA,
					dialect: () => ({ reader, writer }),
					inputs: { fields: { ...INPUTS, stream: true } },
					signal,
				},
				services,
			);
			await expect(answered).rejects.toThrow();
			await live.cancelled;
		}
	});
});

describe("a caller who disconnects", () => {
	it("before the runtime reads the reply is settled, and the engine's stream is cancelled", async () => {
		const live = liveEvents();
		live.send(delta("Hel"));
		const services = testServices({ vars: ENGINE_VARS, fetch: async () => live.response });
		const settled: Settlement[] = [];
		const ledgers: typeof services.ledgers = {
			of(account) {
				const ledger = services.ledgers.of(account);
				return Object.assign(Object.create(ledger), {
					admitFromLease: () => undefined,
					admit: ledger.admit.bind(ledger),
					settle: (settlement: Settlement) => settled.push(settlement),
				});
			},
		};
		const caller = new AbortController();
		await run(
			{
				id: services.uuid(),
				caller: { ...CALLER },
				model: LLAMA,
				dialect: () => openaiChat,
				inputs: { fields: { ...INPUTS, stream: true } },
				signal: caller.signal,
			},
			replaceServices(services, { ledgers }),
		);
		expect(settled).toEqual([]);
		caller.abort();
		expect(settled).toMatchObject([{ outcome: "cancelled", outputTokens: 1 }]);
		await live.cancelled;
	});

	it.each([
		["a url", { url: "http://engine/v1" }],
		["a pool", { pool: { replicas: [{ url: "http://engine/v1" }] } }],
	])("ends the read that is under way, of an engine with %s", async (_, address) => {
		const live = liveEvents();
		const route = {
			targets: [
				{ backend: "a", model: "m" },
				{ backend: "a", model: "n" },
			],
		};
		const vars = { BACKENDS: { a: { kind: "openai", ...address } }, ROUTES: { [LLAMA]: route } };
		const app = createApp(testServices({ vars, fetch: async () => live.response }), OPEN_ACCESS);
		live.send(delta("Hel"));
		const caller = new AbortController();
		const response = await app.request(`${BASE}/v1/chat/completions`, {
			method: "POST",
			body: JSON.stringify({ ...INPUTS, stream: true }),
			headers: { "content-type": "application/json" },
			signal: caller.signal,
		});
		const text = response.text();
		await scheduler.wait(10);
		caller.abort();
		expect(await text).toContain("Request was aborted");
		await live.cancelled;
	});
});

describe("usage.neurons", () => {
	const billOf = async (response: Response): Promise<Bill> => {
		const { usage } = await response.json<{ usage: { neurons?: number } }>();
		return [response.headers.get("cf-ai-neurons"), usage.neurons];
	};

	function gateway(reply: (url: string) => Promise<Response>, wait?: () => Promise<void>) {
		const backend = (name: string) => ({ kind: "openai", url: `http://${name}/v1` });
		const services = testServices({
			vars: {
				BACKENDS: { a: backend("a"), b: backend("b") },
				ROUTES: {
					[LLAMA]: {
						targets: [
							{ backend: "a", model: "m" },
							{ backend: "b", model: "m" },
						],
						hedge_ms: 100,
					},
				},
			},
			fetch: async (input, init) => reply(new Request(input, init).url),
		});
		const app = createApp({ ...services, ...(wait && { wait }) }, OPEN_ACCESS);
		return async (more: object = {}, headers: Record<string, string> = {}) =>
			app.request(`${BASE}/v1/chat/completions`, {
				method: "POST",
				body: JSON.stringify({ ...INPUTS, ...more }),
				headers: { "content-type": "application/json", ...headers },
			});
	}

	const never = () => new Promise<void>(() => {});

	it("is nothing where another's answer was shared, as in the header", async () => {
		const gate = Promise.withResolvers<void>();
		let asked = 0;
		const ask = gateway(async () => {
			asked++;
			await gate.promise;
			return Response.json(completion("Hello"));
		}, never);
		const shared = { "x-ganglion-single-flight": "true" };
		const both = [ask({}, shared), ask({}, shared)];
		await expect.poll(() => asked).toBe(1);
		gate.resolve();
		const bills = await Promise.all((await Promise.all(both)).map(billOf));
		expect(asked).toBe(1);
		expect(bills.sort()).toEqual([
			["0.00", 0],
			["0.48", 0.48],
		]);
	});

	it("is the price of the counts, of a stream", async () => {
		const ask = gateway(async () => events(delta("Hi"), finish(), usage(), DONE), never);
		const text = await (await ask({ stream: true, stream_options: { include_usage: true } })).text();
		expect(text).toContain('"neurons":0.48');
	});
});
