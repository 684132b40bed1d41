/** The bounds of the calls of collectors: a share for each account, pauses, and what the operator sees. Time is set by the tests. */
import { describe, expect, it, vi } from "vitest";
import { FairLine } from "../../../src/core/fair-line.ts";
import { bufferedBytes, exportBytes } from "../../../src/core/process-counts.ts";
import { CollectorCalls } from "../../../src/gateways/client/collector-calls.ts";

const address = (account: string, name = "a") =>
	({ account, target: { url: `https://${name}.example/v1/traces` }, kind: "spans" }) as const;

function world(
	answer: (url: string, signal?: AbortSignal | null) => Response | Promise<Response>,
	places = 100,
) {
	let now = 1_000_000;
	const exportLine = new FairLine({ name: "exports", max: places, now: () => now });
	const called: string[] = [];
	const failures: { cause: unknown; collector: object }[] = [];
	const waits = { ms: [] as number[], work: async (): Promise<void> => {} };
	const calls = new CollectorCalls({
		exportLine,
		now: () => now,
		wait: (milliseconds) => {
			waits.ms.push(milliseconds);
			return waits.work();
		},
		failed: (cause, collector) => failures.push({ cause, collector }),
	});
	const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
		called.push(new URL(String(input)).hostname);
		return answer(String(input), init?.signal);
	};
	return {
		...{ calls, called, failures, waits, exportLine },
		pass: (milliseconds: number) => {
			now += milliseconds;
		},
		send: (account: string, name = "a", body = "{}") =>
			calls.collectorOf(address(account, name)).send(body, { gateway: "main", fetch }),
		drops: () =>
			Object.fromEntries(
				(calls.metrics()[0]?.samples ?? []).map(([{ account, reason }, count]) => [
					`${account} ${reason}`,
					count,
				]),
			),
	};
}

const refusing = () => new Response("no", { status: 503 });

describe("the calls of collectors", () => {
	it("of one account leave places for others, and are released at their end", async () => {
		const gate = Promise.withResolvers<Response>();
		const { called, drops, exportLine, send } = world(
			(url) => (url.includes("slow") ? gate.promise : new Response()),
			10,
		);
		const sent = Array.from({ length: 50 }, () => send("hanging", "slow"));
		for (let number = 0; number < 3; number++) await send("other");
		expect(called.filter((host) => host === "slow.example")).toHaveLength(9);
		expect(called.filter((host) => host === "a.example")).toHaveLength(3);
		await vi.waitFor(() => expect(drops()).toEqual({ "hanging full": 41 }));
		expect(exportLine.report()).toMatchObject({ used: 9, refused: 41 });
		gate.resolve(new Response());
		await Promise.all(sent);
		expect(exportLine.report().used).toBe(0);
	});

	it("wait in a line for a place, without asking for it again", async () => {
		const gate = Promise.withResolvers<Response>();
		const { called, drops, exportLine, send, waits } = world(
			() => gate.promise.then(() => new Response()),
			2,
		);
		waits.work = () => new Promise(() => {});
		const sent = Array.from({ length: 4 }, () => send("acme"));
		expect([called.length, waits.ms]).toEqual([1, [1_000, 2_000, 1_000, 2_000, 1_000, 2_000]]);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect([called.length, waits.ms.length, drops()]).toEqual([4, 6, {}]);
		expect(exportLine.report()).toMatchObject({ used: 0, refused: 0 });
	});

	it("of many accounts whose collectors hang leave the next place to an account that has none", async () => {
		const gates: (() => void)[] = [];
		const { called, drops, exportLine, pass, send, waits } = world((url) => {
			if (!url.includes("slow")) return new Response();
			const { promise, resolve } = Promise.withResolvers<Response>();
			gates.push(() => resolve(new Response()));
			return promise;
		}, 20);
		waits.work = () => new Promise(() => {});
		const accounts = Array.from({ length: 20 }, (_, number) => `hanging ${number}`);
		const sent = [1, 2, 3].flatMap(() => accounts.map((account) => send(account, "slow")));
		expect([exportLine.size, gates.length]).toEqual([20, 20]);
		const good = [send("good"), send("good")];
		pass(5_000);
		gates[0]?.();
		await Promise.all(good);
		expect(called.filter((host) => host === "a.example")).toHaveLength(2);
		while (exportLine.size > 0) {
			for (const end of gates.splice(0)) end();
			await scheduler.wait(0);
		}
		await Promise.all(sent);
		expect(drops()).toEqual({});
	});

	/** Three places, whose calls hang until they are aborted. */
	function full() {
		const made = world((url, signal) => {
			if (!url.includes("slow")) return new Response();
			const { promise, reject } = Promise.withResolvers<Response>();
			signal?.addEventListener("abort", () => reject(signal.reason));
			return promise;
		}, 3);
		const timers: (() => void)[] = [];
		made.waits.work = () => new Promise((resolve) => void timers.push(resolve));
		const fill = (): void => {
			for (const account of ["hanging", "hanging", "third"]) void made.send(account, "slow");
		};
		fill();
		return {
			...{ ...made, timers, fill },
			async endAll(): Promise<void> {
				made.pass(30_001);
				await made.send("good");
				expect(exportBytes.report().used).toBe(0);
			},
		};
	}

	it("that are slow lose a place to an account that has waited for a second, unless it would have more", async () => {
		const { called, drops, endAll, exportLine, failures, pass, send, timers } = full();
		// It has the most places itself.
		void send("hanging", "slow");
		const good = send("good");
		expect([exportLine.size, timers.length]).toEqual([3, 4]);
		pass(1_001);
		timers[0]?.();
		await scheduler.wait(0);
		expect([exportLine.size, drops()]).toEqual([3, {}]);
		timers[2]?.();
		await good;
		expect(called.filter((host) => host === "a.example")).toHaveLength(1);
		expect(drops()).toEqual({ "hanging full": 1 });
		expect(failures[0]?.collector).toMatchObject({ account: "hanging", reason: "full" });
		expect(String(failures[0]?.cause)).toContain("has not answered within a second");
		await endAll();
	});

	it("give their place at once, although the runtime has ended the request that made them", async () => {
		// No code of such a request continues.
		const abort = vi.spyOn(AbortController.prototype, "abort").mockImplementation(() => {});
		const { endAll, exportLine, pass, send, timers } = full();
		const good = send("good");
		pass(1_001);
		timers[0]?.();
		await good;
		expect(exportLine.size).toBe(2);
		abort.mockRestore();
		await endAll();
	});

	it("that lose their places are no failures of the collector, so it is not paused", async () => {
		const { calls, drops, endAll, fill, pass, send, timers } = full();
		for (let number = 1; number <= 10; number++) {
			const good = send("good");
			pass(1_001);
			timers.splice(0)[0]?.();
			await good;
			await expect.poll(drops).toEqual({ "hanging full": number });
			await endAll();
			fill();
		}
		expect(calls.collectorOf(address("hanging", "slow")).isPaused).toBe(false);
		await endAll();
	});

	it("release their places although the runtime has ended the requests that made them", async () => {
		const gate = Promise.withResolvers<Response>();
		const { called, drops, exportLine, pass, send } = world(() => gate.promise, 2);
		const sent = [send("acme", "a", "x".repeat(1_000)), send("acme", "b")];
		await vi.waitFor(() => expect(drops()).toEqual({ "acme full": 1 }));
		pass(30_001);
		sent.push(send("acme", "b"));
		expect(called).toEqual(["a.example", "b.example"]);
		expect([exportLine.report().used, exportBytes.report().used]).toEqual([1, 2]);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect([exportLine.report().used, exportBytes.report().used]).toEqual([0, 0]);
	});

	it("that fail name the gateway and the host to the operator, not the path, which may have a secret", async () => {
		const { calls, failures } = world(refusing);
		const url = "https://user:password@otlp.example:4318/secret-path/v1/traces?key=secret";
		const target = { url, authorization: "Bearer secret", headers: { "x-key": "secret" } };
		const client = calls.collectorOf({ account: "acme", target, kind: "spans" });
		await client.send("{}", { gateway: "main", fetch: async () => refusing() });
		const collector = {
			...{ account: "acme", gateway: "main", kind: "spans", host: "otlp.example:4318" },
			...{ reason: "failed", status: 503 },
		};
		expect(failures).toEqual([{ cause: expect.any(Error), collector }]);
		expect(String(failures[0]?.cause)).toBe("Error: The collector answered with status 503");
	});

	it("that do not answer, or are refused, have no status in the log", async () => {
		const { calls, failures } = world(refusing);
		const fetch = async (): Promise<Response> => {
			throw new TypeError("connection refused");
		};
		await calls.collectorOf(address("acme")).send("{}", { gateway: "main", fetch });
		const cause = new Error("a private address");
		calls.collectorOf(address("acme", "b")).drop("refused", { gateway: "main", cause });
		const known = { account: "acme", gateway: "main", kind: "spans" };
		expect(failures.map(({ collector }) => collector)).toEqual([
			{ ...known, host: "a.example", reason: "failed" },
			{ ...known, host: "b.example", reason: "refused" },
		]);
	});

	it("pause after five failures in turn, and one call after the pause decides", async () => {
		let answer = refusing;
		const { called, drops, pass, send } = world(() => answer());
		for (let number = 0; number < 20; number++) await send("acme");
		expect(called).toHaveLength(5);
		expect(drops()).toEqual({ "acme failed": 5, "acme paused": 15 });
		// A collector of the same account that works.
		await send("acme", "b");
		expect(called.at(-1)).toBe("b.example");
		pass(5_000);
		for (let number = 0; number < 20; number++) await send("acme");
		expect(called).toHaveLength(7);
		answer = () => new Response();
		pass(10_000);
		for (let number = 0; number < 20; number++) await send("acme");
		expect(called).toHaveLength(27);
	});

	it("write a line to the log at most every 10 seconds for a collector that fails for an hour", async () => {
		const { called, failures, pass, send } = world(refusing);
		for (let second = 0; second < 3_600; second++) {
			for (let number = 0; number < 5; number++) await send("acme");
			pass(1_000);
		}
		expect(failures.length).toBeLessThanOrEqual(360);
		expect(failures.length).toBeGreaterThan(100);
		expect(called.length).toBeLessThan(500);
	});

	it("hold no bytes that requests need, and have 8 MiB of their own, one account a half of them", async () => {
		const gate = Promise.withResolvers<Response>();
		const { called, drops, exportLine, send } = world(() => gate.promise.then(() => new Response()));
		const { used } = bufferedBytes.report();
		const mib = "x".repeat(1024 * 1024);
		const sent = Array.from({ length: 20 }, () => send("acme", "slow", mib));
		expect([called.length, drops()]).toEqual([4, { "acme full": 16 }]);
		sent.push(send("other", "a", mib), send("other", "a", mib), send("other", "a", mib));
		expect([called.length, drops()]).toEqual([6, { "acme full": 16, "other full": 1 }]);
		expect([exportBytes.report().used, bufferedBytes.report().used]).toEqual([6 * 1024 * 1024, used]);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect([exportBytes.report().used, exportLine.report().used]).toEqual([0, 0]);
	});

	it("are paused without a count of what nobody sends", async () => {
		const { calls, drops, send } = world(refusing);
		for (let number = 0; number < 5; number++) await send("acme");
		const collector = calls.collectorOf(address("acme"));
		expect([collector.isPaused, collector.isPaused]).toEqual([true, true]);
		expect(drops()).toEqual({ "acme failed": 5 });
	});
});
