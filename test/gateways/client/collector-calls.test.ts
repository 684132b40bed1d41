/** The bounds of the calls of collectors: a share for each account, pauses, and what the operator sees. Time is set by the tests. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { bufferedBytes, exportBytes, runningExports } from "../../../src/core/process-counts.ts";
import { CollectorCalls } from "../../../src/gateways/client/collector-calls.ts";

const address = (account: string, name = "a") =>
	({ account, target: { url: `https://${name}.example/v1/traces` }, kind: "spans" }) as const;

function world(answer: (url: string) => Response | Promise<Response>) {
	let now = 1_000_000;
	const called: string[] = [];
	const failures: { cause: unknown; collector: object }[] = [];
	const waits = { ms: [] as number[], work: async (): Promise<void> => {} };
	const calls = new CollectorCalls({
		now: () => now,
		wait: (milliseconds) => {
			waits.ms.push(milliseconds);
			return waits.work();
		},
		failed: (cause, collector) => failures.push({ cause, collector }),
	});
	const fetch = async (input: RequestInfo | URL): Promise<Response> => {
		called.push(new URL(String(input)).hostname);
		return answer(String(input));
	};
	return {
		...{ calls, called, failures, waits },
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

const { limit } = runningExports.report();
const refusing = () => new Response("no", { status: 503 });

afterEach(() => runningExports.limitTo(limit));

describe("the calls of collectors", () => {
	it("of one account leave places for others, and are released at their end", async () => {
		runningExports.limitTo(10);
		const gate = Promise.withResolvers<Response>();
		const { called, drops, send } = world((url) => (url.includes("slow") ? gate.promise : new Response()));
		const sent = Array.from({ length: 50 }, () => send("hanging", "slow"));
		await Promise.all([send("other"), send("other"), send("other")]);
		expect(called.filter((host) => host === "slow.example")).toHaveLength(5);
		expect(called.filter((host) => host === "a.example")).toHaveLength(3);
		await vi.waitFor(() => expect(drops()).toEqual({ "hanging full": 45 }));
		expect(runningExports.report().used).toBe(5);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect(runningExports.report().used).toBe(0);
	});

	it("wait for a place in a burst", async () => {
		runningExports.limitTo(4);
		const gate = Promise.withResolvers<Response>();
		const { called, drops, send, waits } = world(() => gate.promise.then(() => new Response()));
		const turn = Promise.withResolvers<void>();
		waits.work = () => turn.promise;
		const sent = Array.from({ length: 4 }, () => send("acme"));
		expect([called.length, waits.ms]).toEqual([2, [50, 50]]);
		gate.resolve(new Response());
		await Promise.all(sent.slice(0, 2));
		turn.resolve();
		await Promise.all(sent);
		expect([called.length, drops()]).toEqual([4, {}]);
		expect(runningExports.report().used).toBe(0);
	});

	it("release their places although the runtime has ended the requests that made them", async () => {
		runningExports.limitTo(2);
		const gate = Promise.withResolvers<Response>();
		const { called, drops, pass, send } = world(() => gate.promise);
		const sent = [send("acme", "a", "x".repeat(1_000)), send("acme", "b")];
		await vi.waitFor(() => expect(drops()).toEqual({ "acme full": 1 }));
		pass(30_001);
		sent.push(send("acme", "b"));
		expect(called).toEqual(["a.example", "b.example"]);
		expect([runningExports.report().used, exportBytes.report().used]).toEqual([1, 2]);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect([runningExports.report().used, exportBytes.report().used]).toEqual([0, 0]);
	});

	it("are counted as refused once for each body, not for each time that it asks for a place", async () => {
		runningExports.limitTo(2);
		const gate = Promise.withResolvers<Response>();
		const { drops, send, waits } = world(() => gate.promise.then(() => new Response()));
		const { refused } = runningExports.report();
		const sent = [send("acme"), send("acme"), send("acme")];
		await Promise.all(sent.slice(1));
		expect(waits.ms).toHaveLength(10);
		expect(drops()).toEqual({ "acme full": 2 });
		expect(runningExports.report().refused - refused).toBe(2);
		gate.resolve(new Response());
		await sent[0];
	});

	it("that get a place later are not counted as refused", async () => {
		runningExports.limitTo(2);
		const gate = Promise.withResolvers<Response>();
		const { called, send, waits } = world(() => gate.promise.then(() => new Response()));
		const { refused } = runningExports.report();
		const sent = [send("acme"), send("acme")];
		waits.work = async () => {
			gate.resolve(new Response());
			await sent[0];
		};
		await Promise.all(sent);
		expect([called.length, runningExports.report().refused - refused]).toEqual([2, 0]);
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
		const { called, drops, send } = world(() => gate.promise.then(() => new Response()));
		const { used } = bufferedBytes.report();
		const mib = "x".repeat(1024 * 1024);
		const sent = Array.from({ length: 20 }, () => send("acme", "slow", mib));
		expect([called.length, drops()]).toEqual([4, { "acme full": 16 }]);
		sent.push(send("other", "a", mib), send("other", "a", mib), send("other", "a", mib));
		expect([called.length, drops()]).toEqual([6, { "acme full": 16, "other full": 1 }]);
		expect([exportBytes.report().used, bufferedBytes.report().used]).toEqual([6 * 1024 * 1024, used]);
		gate.resolve(new Response());
		await Promise.all(sent);
		expect([exportBytes.report().used, runningExports.report().used]).toEqual([0, 0]);
	});

	it("are paused without a count of what nobody sends", async () => {
		const { calls, drops, send } = world(refusing);
		for (let number = 0; number < 5; number++) await send("acme");
		const collector = calls.collectorOf(address("acme"));
		expect([collector.isPaused, collector.isPaused]).toEqual([true, true]);
		expect(drops()).toEqual({ "acme failed": 5 });
	});
});
