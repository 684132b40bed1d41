/** The verifications that requests and sockets of one credential share. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { KnownCredentials } from "../../../src/accounts/client/known-credentials.ts";
import { AiError } from "../../../src/core/errors.ts";

const TOKEN = { kind: "token", hash: "a" } as const;

function world() {
	let now = 1_000_000;
	const credentials = new KnownCredentials({ now: () => now });
	const calls: PromiseWithResolvers<object>[] = [];
	return {
		calls,
		pass: (milliseconds: number) => {
			now += milliseconds;
		},
		verify: (hash: string = TOKEN.hash, account = "acme") =>
			credentials.verify(account, { ...TOKEN, hash }, () => {
				const call = Promise.withResolvers<object>();
				calls.push(call);
				return call.promise;
			}),
	};
}

describe("a verification of a token", () => {
	it("is made once for all that need it at the same time, and again a second after it", async () => {
		const { calls, pass, verify } = world();
		const all = Array.from({ length: 50 }, () => verify());
		expect(calls).toHaveLength(1);
		calls[0]?.resolve({});
		await Promise.all(all);
		await verify();
		expect(calls).toHaveLength(1);
		pass(1_001);
		void verify();
		void verify();
		expect(calls).toHaveLength(2);
		calls[1]?.resolve({});
	});

	it("is of one token of one account", () => {
		const { calls, verify } = world();
		void verify("a");
		void verify("b");
		void verify("a", "other");
		expect(calls).toHaveLength(3);
		for (const call of calls) call.resolve({});
	});

	it("that is refused refuses all that wait for it, and nothing after them", async () => {
		const { calls, verify } = world();
		const all = Array.from({ length: 50 }, () => verify());
		calls[0]?.reject(new AiError("authentication"));
		const results = await Promise.allSettled(all);
		expect(results.every(({ status }) => status === "rejected")).toBe(true);
		expect(calls).toHaveLength(1);
		void verify();
		expect(calls).toHaveLength(2);
		calls[1]?.resolve({});
	});

	it("that never ends, because the runtime has ended its request, is made again once for all others", async () => {
		vi.useFakeTimers();
		onTestFinished(() => void vi.useRealTimers());
		const { calls, verify } = world();
		void verify();
		const all = Array.from({ length: 50 }, () => verify());
		await vi.advanceTimersByTimeAsync(499);
		expect(calls).toHaveLength(1);
		await vi.advanceTimersByTimeAsync(1);
		expect(calls).toHaveLength(2);
		calls[1]?.resolve({});
		await Promise.all(all);
		expect(calls).toHaveLength(2);
	});
});
