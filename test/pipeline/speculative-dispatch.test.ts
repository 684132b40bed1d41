import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { Dispatched } from "../../src/pipeline/request.ts";
import { dispatchSpeculatively } from "../../src/pipeline/speculative-dispatch.ts";
import type { TaskCall } from "../../src/tasks/task.ts";

const CHAT: TaskCall<"text-generation"> = {
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false, max_tokens: 256 },
};
const SHORTER: TaskCall = { ...CHAT, input: { ...CHAT.input, max_tokens: 10 } };

/** An engine and an account that answer when the test resolves them. */
function bench() {
	const decision = Promise.withResolvers<TaskCall>();
	decision.promise.catch(() => {});
	const caller = new AbortController();
	const calls: { call: TaskCall; signal: AbortSignal; reply: PromiseWithResolvers<Dispatched> }[] = [];
	let required = 0;
	let cancelled = 0;
	const dispatching = dispatchSpeculatively(
		{
			call: CHAT,
			speculation: {
				decision: decision.promise,
				requireDecision: () => {
					required++;
				},
			},
		},
		caller.signal,
		(call: TaskCall, signal: AbortSignal) => {
			const reply = Promise.withResolvers<Dispatched>();
			calls.push({ call, signal, reply });
			signal.addEventListener("abort", () => reply.reject(new AiError("aborted")));
			return reply.promise;
		},
	);
	dispatching.catch(() => {});
	let answered = false;
	dispatching.then(
		() => {
			answered = true;
		},
		() => {},
	);
	const events = () =>
		new ReadableStream<Uint8Array>({
			cancel() {
				cancelled++;
			},
		});
	const dispatched = (call: TaskCall = CHAT): Dispatched => ({
		call,
		answer: {
			task: "text-generation",
			answer: { kind: "stream", events: events(), progress: { usage: undefined, outputTokens: 0 } },
		},
		served: { backend: "a", model: "m", attempts: 1, wasted: [] },
	});
	return {
		dispatching,
		calls,
		caller,
		decision,
		dispatched,
		get seen() {
			return { required, cancelled, answered };
		},
	};
}

const turns = async () => {
	for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe("speculative dispatch", () => {
	it("calls the engine at once, and holds its answer until admission", async () => {
		const one = bench();
		const { dispatching, calls, decision, dispatched } = one;
		expect(calls.map(({ call }) => call)).toEqual([CHAT]);
		const given = dispatched();
		calls[0]?.reply.resolve(given);
		await turns();
		expect(one.seen.answered).toBe(false);
		decision.resolve(CHAT);
		expect(await dispatching).toEqual(given);
	});

	it("requires the decision when the engine has answered or failed, and not before", async () => {
		for (const fails of [false, true]) {
			const one = bench();
			await turns();
			expect(one.seen).toEqual({ required: 0, cancelled: 0, answered: false });
			if (fails) one.calls[0]?.reply.reject(new AiError("executionFailed"));
			else one.calls[0]?.reply.resolve(one.dispatched());
			await turns();
			expect(one.seen).toEqual({ required: 1, cancelled: 0, answered: false });
			one.decision.resolve(CHAT);
			if (fails) await expect(one.dispatching).rejects.toMatchObject({ key: "executionFailed" });
			else await one.dispatching;
		}
	});

	it("waits for the engine after admission", async () => {
		const { dispatching, calls, decision, dispatched } = bench();
		decision.resolve(CHAT);
		await turns();
		const given = dispatched();
		calls[0]?.reply.resolve(given);
		expect(await dispatching).toMatchObject({ call: CHAT });
	});

	it("rejects at once with the account's refusal, and cancels the engine's call", async () => {
		const one = bench();
		one.decision.reject(new AiError("rateLimited"));
		await expect(one.dispatching).rejects.toMatchObject({ key: "rateLimited" });
		expect(one.calls).toHaveLength(1);
		expect(one.calls[0]?.signal.aborted).toBe(true);
	});

	it("does not show an answer that had begun when the account refuses", async () => {
		const one = bench();
		one.calls[0]?.reply.resolve(one.dispatched());
		await turns();
		one.decision.reject(new AiError("authentication"));
		await expect(one.dispatching).rejects.toMatchObject({ key: "authentication" });
		await turns();
		expect(one.seen.cancelled).toBe(1);
	});

	it("rejects with the refusal, not with the failure of the engine", async () => {
		const one = bench();
		one.calls[0]?.reply.reject(new AiError("executionFailed"));
		await turns();
		one.decision.reject(new AiError("rateLimited"));
		await expect(one.dispatching).rejects.toMatchObject({ key: "rateLimited" });
	});

	it("calls the engine again if the account grants less output", async () => {
		const one = bench();
		one.calls[0]?.reply.resolve(one.dispatched());
		await turns();
		one.decision.resolve(SHORTER);
		await turns();
		expect(one.calls.map(({ call }) => call)).toEqual([CHAT, SHORTER]);
		expect(one.seen.cancelled).toBe(1);
		expect(one.calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
		one.calls[1]?.reply.resolve(one.dispatched(SHORTER));
		expect(await one.dispatching).toMatchObject({ call: SHORTER });
	});

	it("cancels the engine's call when the caller disconnects", async () => {
		const one = bench();
		one.caller.abort();
		await turns();
		expect(one.calls[0]?.signal.aborted).toBe(true);
		one.decision.resolve(CHAT);
		await expect(one.dispatching).rejects.toMatchObject({ key: "aborted" });
	});
});
