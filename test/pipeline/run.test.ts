import { describe, expect, it } from "vitest";
import type { Granted, Settlement } from "../../src/accounts/admission.ts";
import { createApp } from "../../src/app.ts";
import { AiError } from "../../src/core/errors.ts";
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

describe("a caller who disconnects before the runtime reads the reply", () => {
	/** A stream that has started, and waits for admission. */
	async function startedStream() {
		const live = liveEvents();
		live.send(delta("Hel"));
		const services = testServices({ vars: ENGINE_VARS, fetch: async () => live.response });
		const settled: Settlement[] = [];
		const decision = Promise.withResolvers<Granted>();
		const started = Promise.withResolvers<void>();
		const ledgers: typeof services.ledgers = {
			of: (account) =>
				Object.assign(Object.create(services.ledgers.of(account)), {
					settle: (settlement: Settlement) => settled.push(settlement),
					admitFromLease: () => undefined,
					speculate: () => ({
						expected: {},
						decision: decision.promise,
						requireDecision: started.resolve,
					}),
				}),
		};
		const caller = new AbortController();
		const answered = run(
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
		await started.promise;
		const admit = () => decision.resolve({});
		return { answered, admit, disconnect: () => caller.abort(), settled, cancelled: live.cancelled };
	}
	const CANCELLED = [{ outcome: "cancelled", outputTokens: 1 }];

	it("is settled, and the engine's stream is cancelled: during admission", async () => {
		const { answered, admit, disconnect, settled, cancelled } = await startedStream();
		disconnect();
		admit();
		await answered;
		expect(settled).toMatchObject(CANCELLED);
		await cancelled;
	});

	it("is settled, and the engine's stream is cancelled: after admission", async () => {
		const { answered, admit, disconnect, settled, cancelled } = await startedStream();
		admit();
		await answered;
		expect(settled).toEqual([]);
		disconnect();
		expect(settled).toMatchObject(CANCELLED);
		await cancelled;
	});
});

describe("a speculative request", () => {
	const asked = (services: ReturnType<typeof testServices>, more: object = {}) =>
		run(
			{
				id: services.uuid(),
				caller: { ...CALLER },
				model: LLAMA,
				dialect: () => openaiChat,
				inputs: { fields: INPUTS },
				signal: new AbortController().signal,
				...more,
			},
			services,
		);
	/** The real objects; what the account says is the test's, from the second request on. */
	function gateway(decide: (engineAsked: Promise<void>) => Promise<Granted>, secondStatus = 200) {
		let engineCalls = 0;
		const limits: (number | undefined)[] = [];
		const { promise: engineAsked, resolve: tellAsked } = Promise.withResolvers<void>();
		const services = testServices({
			vars: ENGINE_VARS,
			fetch: async (input, init) => {
				engineCalls++;
				limits.push((await new Request(input, init).json<{ max_tokens?: number }>()).max_tokens);
				tellAsked();
				if (engineCalls > 1 && secondStatus !== 200)
					return Response.json({ error: { message: "refused" } }, { status: secondStatus });
				return Response.json(completion("Hello"));
			},
		});
		const settled: Settlement[] = [];
		let speculations = 0;
		const ledgers: typeof services.ledgers = {
			of(account) {
				const ledger = services.ledgers.of(account);
				return Object.assign(Object.create(ledger), {
					admitFromLease: () => undefined,
					admit: ledger.admit.bind(ledger),
					settle: (settlement: Settlement) => settled.push(settlement),
					speculate() {
						speculations++;
						const decision = decide(engineAsked);
						decision.catch(() => {});
						return { expected: {}, decision, requireDecision: () => {} };
					},
				});
			},
		};
		return {
			services: replaceServices(services, { ledgers }),
			settled,
			limits,
			seen: () => ({ engineCalls, speculations }),
		};
	}
	const no = () => Promise.reject(new AiError("rateLimited"));

	it("gets the account's refusal, whatever its engine answered, and is not settled", async () => {
		const { services, settled, seen } = gateway((engineAsked) => engineAsked.then(no));
		await expect(asked(services)).rejects.toMatchObject({ key: "rateLimited" });
		expect(seen()).toEqual({ engineCalls: 1, speculations: 1 });
		expect(settled).toEqual([]);
	});

	it("gets the account's refusal also if no engine serves the model", async () => {
		const { services, settled } = gateway(no);
		const nobody = { ...services, routing: { ...services.routing, find: () => undefined } };
		await expect(asked(nobody)).rejects.toMatchObject({ key: "rateLimited" });
		expect(settled).toEqual([]);
	});

	it("is settled as failed if no engine serves the model, after the account has admitted it", async () => {
		const { services, settled } = gateway(async () => ({}));
		const nobody = { ...services, routing: { ...services.routing, find: () => undefined } };
		await expect(asked(nobody)).rejects.toBeInstanceOf(AiError);
		expect(settled).toMatchObject([{ outcome: "failed" }]);
	});

	it("is called again if the account grants less output, and both calls count as attempts", async () => {
		const grant = (engineAsked: Promise<void>) => engineAsked.then(() => ({ outputTokens: 40 }));
		const answered = gateway(grant);
		const reply = await asked(answered.services);
		expect(reply.served.attempts).toBe(2);
		expect(answered.limits).toEqual([256, 40]);
		expect(answered.settled).toMatchObject([{ outcome: "ok", attempts: 2 }]);
		const refused = gateway(grant, 400);
		await expect(asked(refused.services)).rejects.toMatchObject({ exchange: { attempts: 2 } });
		expect(refused.settled).toMatchObject([{ outcome: "failed", attempts: 2 }]);
	});

	it("excludes single-flight requests, which may not start unpaid", async () => {
		const { services, seen } = gateway(no);
		await asked(services, { options: { singleFlight: true } });
		expect(seen()).toEqual({ engineCalls: 1, speculations: 0 });
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
