/** Bills of batches: each line is answered once and billed once, within the limits of its account. */
import { describe, expect, it } from "vitest";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, chat, jsonLines } from "./batch-runs.ts";

const PRICED = {
	...ENGINE_VARS,
	MODELS: {
		"gpt-5.6-sol": {
			task: "Text Generation",
			prices: [
				{ unit: "per M input tokens", neurons: 100_000 },
				{ unit: "per M output tokens", neurons: 200_000 },
			],
		},
	},
};
const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
const answer = () => Response.json({ ...completion("Hello"), usage: USAGE });
const numbered = (count: number) =>
	jsonLines(Array.from({ length: count }, (_, index) => chat(String(index))));

type Started = ReturnType<typeof batches>;
const bills = async ({ services }: Started) =>
	(await services.ledgers.of("local").requests({ limit: 100 })).requests;

describe("the bill of a batch", () => {
	it("has the discount of its backend, and the usage shows both prices", async () => {
		const { fetch } = upstream(answer);
		for (const [jobs, factor] of [
			[{}, 0.5],
			[{ discount: 0.8 }, 0.8],
			[{ backends: { engine: { discount: 1 } } }, 1],
		] as const) {
			const gateway = batches({ vars: { ...PRICED, JOBS: jobs }, fetch });
			const { create, openai, runAll } = gateway;
			const live = await gateway.post("/v1/chat/completions", chat("live").body);
			const full = Number(live.headers.get("cf-ai-neurons"));
			expect(full).toBeGreaterThan(0);
			const batch = await create(numbered(2));
			await runAll();
			const { usage } = await openai.batches.retrieve(batch.id);
			expect(usage).toMatchObject({
				input_tokens: 2_000,
				output_tokens: 1_000,
				total_tokens: 3_000,
				neurons: expect.closeTo(2 * full * factor, 1),
				neurons_without_discount: expect.closeTo(2 * full, 1),
			});
			const charged = (await bills(gateway)).map(({ microNeurons }) => microNeurons / 1e6);
			expect(charged.reduce((sum, neurons) => sum + neurons, 0)).toBeCloseTo(full + 2 * full * factor, 1);
		}
	});

	it("is booked once by any number of polls, cancellations and further runs", async () => {
		const { fetch, requests } = upstream(answer);
		const gateway = batches({ vars: PRICED, fetch });
		const { create, openai, runAll, runOnce } = gateway;
		const batch = await create(numbered(3));
		await runAll();
		for (let poll = 0; poll < 3; poll++) await openai.batches.retrieve(batch.id);
		await openai.batches.cancel(batch.id);
		await runOnce();
		expect(requests).toHaveLength(3);
		expect(await bills(gateway)).toHaveLength(3);
	});
});

describe("a process that is killed", () => {
	it("after the engines' answers, before the commit: the lines run again, and are billed once", async () => {
		let killed = true;
		const { fetch, requests } = upstream(async () => {
			// The run never continues, as in a process that has ended.
			if (killed) await new Promise<void>(() => {});
			return answer();
		});
		const gateway = batches({ vars: PRICED, fetch });
		const { create, openai, runAll, runOnce, lines, services } = gateway;
		const batch = await create(numbered(20));
		void runOnce().catch(() => {});
		await expect.poll(() => requests.length).toBeGreaterThan(0);
		const lost = requests.length;
		expect((await bills(gateway)).filter(({ outcome }) => outcome === "open").length).toBeGreaterThan(0);
		killed = false;
		// Another process takes over.
		services.jobPace = new (Object.getPrototypeOf(services.jobPace).constructor)(() => Date.now());
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(done.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
		const output = await lines(done.output_file_id);
		expect(new Set(output.map(({ custom_id }) => custom_id)).size).toBe(20);
		expect(output).toHaveLength(20);
		expect(requests.length).toBe(20 + lost);
		const all = await bills(gateway);
		expect(all.filter(({ outcome }) => outcome === "ok")).toHaveLength(20);
		expect(all.filter(({ outcome }) => outcome === "open")).toEqual([]);
		expect(all.filter(({ microNeurons }) => microNeurons > 0)).toHaveLength(20);
		expect((await services.jobs.usage("local")).repeatedLines).toBeGreaterThanOrEqual(lost);
	});

	it("while an engine is slow: lines that run, and those of the last second, run again", async () => {
		const [lines, concurrency, answerMs] = [30, 4, 500];
		const answered: number[] = [];
		const { fetch, requests } = upstream(async () => {
			await scheduler.wait(answerMs + (requests.length % concurrency) * 30);
			answered.push(Date.now());
			return answer();
		});
		const gateway = batches({ vars: { ...PRICED, JOBS: { concurrency } }, fetch });
		const { create, openai, runAll, runOnce, services } = gateway;
		const batch = await create(numbered(lines));
		void runOnce().catch(() => {});
		await expect.poll(() => answered.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(24);
		const { request_counts } = await openai.batches.retrieve(batch.id);
		const [called, early] = [requests.length, answered.filter((at) => at < Date.now() - 1_500).length];
		expect(early).toBeGreaterThan(8);
		expect(request_counts?.completed).toBeGreaterThanOrEqual(early);
		// Another process takes over.
		services.jobPace = new (Object.getPrototypeOf(services.jobPace).constructor)(() => Date.now());
		await runAll();
		expect((await openai.batches.retrieve(batch.id)).request_counts).toMatchObject({ completed: lines });
		expect(requests.length - lines).toBeLessThanOrEqual(called - early + concurrency);
		expect((await bills(gateway)).filter(({ microNeurons }) => microNeurons > 0)).toHaveLength(lines);
	}, 20_000);

	it("after the commit, before the account has the bills: the next run delivers them", async () => {
		const { fetch } = upstream(answer);
		const gateway = batches({ vars: PRICED, fetch });
		const { create, runAll, runOnce, services } = gateway;
		await create(numbered(3));
		const { ledgers } = services;
		services.ledgers = {
			of: (account) =>
				new Proxy(ledgers.of(account), {
					get(target, name) {
						if (name === "settleNow")
							return async () => Promise.reject(new Error("The account is unreachable"));
						const member: unknown = Reflect.get(target, name, target);
						return typeof member === "function" ? member.bind(target) : member;
					},
				}),
		};
		await expect(runOnce()).rejects.toThrow("unreachable");
		expect((await ledgers.of("local").requests({})).requests.map(({ outcome }) => outcome)).toContain("open");
		services.ledgers = ledgers;
		await runAll();
		const all = await bills(gateway);
		expect(all.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
	});

	it("while the results are stored: the next run stores the same files", async () => {
		const { fetch, requests } = upstream(answer);
		const gateway = batches({ vars: PRICED, fetch });
		const { create, openai, runAll, runOnce, services } = gateway;
		const batch = await create(numbered(3));
		const { storage } = services;
		services.storage = {
			...storage,
			blobs: (account) =>
				new Proxy(storage.blobs(account), {
					get(target, name) {
						if (name === "put") return () => Promise.reject(new Error("The storage is unreachable"));
						const member: unknown = Reflect.get(target, name, target);
						return typeof member === "function" ? member.bind(target) : member;
					},
				}),
		};
		await expect(runOnce()).rejects.toThrow("unreachable");
		expect(await openai.batches.retrieve(batch.id)).toMatchObject({
			status: "finalizing",
			output_file_id: null,
		});
		services.storage = storage;
		await runAll();
		expect(await openai.batches.retrieve(batch.id)).toMatchObject({ status: "completed" });
		expect(requests).toHaveLength(3);
	});

	it("does not disturb a later run of the same batch", async () => {
		const held: (() => void)[] = [];
		let isHeld = true;
		const { fetch } = upstream(async () => {
			if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
			return answer();
		});
		const gateway = batches({ vars: PRICED, fetch });
		const { create, openai, runAll, runOnce, services } = gateway;
		const batch = await create(numbered(4));
		const first = runOnce();
		await expect.poll(() => held.length).toBe(4);
		isHeld = false;
		services.jobPace = new (Object.getPrototypeOf(services.jobPace).constructor)(() => Date.now());
		await runAll();
		for (const resolve of held) resolve();
		await first;
		const done = await openai.batches.retrieve(batch.id);
		expect(done.request_counts).toEqual({ total: 4, completed: 4, failed: 0 });
		const all = await bills(gateway);
		expect(all.filter(({ microNeurons }) => microNeurons > 0)).toHaveLength(4);
	});
});

describe("a batch whose account has reached a limit", () => {
	it("waits, says so, and never passes the budget", async () => {
		const { fetch, requests } = upstream(answer);
		const probe = batches({ vars: PRICED, fetch });
		const live = await probe.post("/v1/chat/completions", { ...chat("x").body, max_tokens: 500 });
		const full = Number(live.headers.get("cf-ai-neurons"));
		const gateway = batches({
			vars: { ...PRICED, LIMITS: { daily_neurons: full * 3 } },
			fetch,
		});
		const { create, openai, runOnce } = gateway;
		const batch = await create(
			jsonLines(Array.from({ length: 40 }, (_, index) => chat(String(index), { max_tokens: 500 }))),
		);
		let postponed: number | undefined = 0;
		for (let run = 0; run < 20 && postponed !== undefined && postponed < 60_000; run++) {
			// Lines that were refused for a moment, because of those that ran, are tried again after it.
			await scheduler.wait(postponed);
			postponed = await runOnce();
		}
		expect(postponed).toBeGreaterThanOrEqual(60_000);
		const waiting = (await openai.batches.retrieve(batch.id)) as OpenAiBatch;
		expect(waiting).toMatchObject({
			status: "in_progress",
			waiting: { code: 3036, message: expect.stringContaining("budget"), until: expect.any(Number) },
		});
		expect(waiting.request_counts?.failed).toBe(0);
		const spent = (await bills(gateway)).reduce((sum, { microNeurons }) => sum + microNeurons, 0);
		expect(spent / 1e6).toBeLessThanOrEqual(full * 3);
		expect(requests.length - 1).toBe(waiting.request_counts?.completed);
		await openai.batches.cancel(batch.id);
		await gateway.runAll();
		const done = (await openai.batches.retrieve(batch.id)) as OpenAiBatch;
		expect(done).toMatchObject({ status: "cancelled" });
		expect(done.waiting).toBeUndefined();
	});

	it("waits for a rate, and leaves a quarter of it to live requests", async () => {
		const { fetch, requests } = upstream(answer);
		const gateway = batches({
			vars: { ...ENGINE_VARS, LIMITS: { requests_per_minute: { "Text Generation": 8 } } },
			fetch,
		});
		const batch = await gateway.create(numbered(10));
		expect(await gateway.runOnce()).toBeGreaterThan(1_000);
		const waiting = (await gateway.openai.batches.retrieve(batch.id)) as OpenAiBatch;
		expect(waiting).toMatchObject({ waiting: { code: 3021 }, request_counts: { completed: 6, failed: 0 } });
		expect(requests).toHaveLength(6);
		const live = async () => (await gateway.post("/v1/chat/completions", chat("live").body)).status;
		expect([await live(), await live(), await live()]).toEqual([200, 200, 429]);
	});
});

describe("an engine that is busy or fails", () => {
	it("is asked again, and its last failure is the result", async () => {
		let calls = 0;
		const { fetch } = upstream(() =>
			++calls <= 1 ? Response.json({ error: { message: "busy" } }, { status: 429 }) : answer(),
		);
		const { create, openai, runAll } = batches({ vars: ENGINE_VARS, fetch });
		const batch = await create(numbered(1));
		await runAll();
		expect((await openai.batches.retrieve(batch.id)).request_counts).toEqual({
			total: 1,
			completed: 1,
			failed: 0,
		});
	});
});

type OpenAiBatch = Awaited<ReturnType<Started["openai"]["batches"]["retrieve"]>> & {
	waiting?: { code: number; message: string; until: number };
};
