import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { Dispatched } from "../../src/pipeline/dispatch.ts";
import { askAhead } from "../../src/pipeline/speculative-dispatch.ts";
import type { TaskCall } from "../../src/tasks/task.ts";

const CHAT: TaskCall<"text-generation"> = {
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false, max_tokens: 256 },
};
const SHORTER: TaskCall = { ...CHAT, input: { ...CHAT.input, max_tokens: 10 } };

/** An engine that answers when the test says so, and an account that does. */
function bench() {
	const word = Promise.withResolvers<TaskCall>();
	word.promise.catch(() => {});
	const caller = new AbortController();
	const calls: { call: TaskCall; signal: AbortSignal; reply: PromiseWithResolvers<Dispatched> }[] = [];
	let needed = 0;
	let cancelled = 0;
	const asked = askAhead(
		{
			call: CHAT,
			ahead: {
				word: word.promise,
				needed: () => {
					needed++;
				},
			},
		},
		caller.signal,
		(call, signal) => {
			const reply = Promise.withResolvers<Dispatched>();
			calls.push({ call, signal, reply });
			signal.addEventListener("abort", () => reply.reject(new AiError("aborted")));
			return reply.promise;
		},
	);
	asked.catch(() => {});
	let answered = false;
	asked.then(
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
	const dispatched = (): Dispatched => ({
		answer: {
			task: "text-generation",
			answer: { kind: "stream", events: events(), progress: { usage: undefined, outputTokens: 0 } },
		},
		served: { backend: "a", model: "m", attempts: 1, wasted: [] },
	});
	return {
		asked,
		calls,
		caller,
		word,
		dispatched,
		get seen() {
			return { needed, cancelled, answered };
		},
	};
}

const turns = async () => {
	for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe("a request that goes ahead", () => {
	it("is asked at once, and gives its answer only with the account's word", async () => {
		const one = bench();
		const { asked, calls, word, dispatched } = one;
		expect(calls.map(({ call }) => call)).toEqual([CHAT]);
		const given = dispatched();
		calls[0]?.reply.resolve(given);
		await turns();
		expect(one.seen.answered).toBe(false);
		word.resolve(CHAT);
		expect(await asked).toEqual({ ...given, call: CHAT });
	});

	it("says that it needs the word when the engine has answered or failed, and not before", async () => {
		for (const fails of [false, true]) {
			const one = bench();
			await turns();
			expect(one.seen).toEqual({ needed: 0, cancelled: 0, answered: false });
			if (fails) one.calls[0]?.reply.reject(new AiError("executionFailed"));
			else one.calls[0]?.reply.resolve(one.dispatched());
			await turns();
			expect(one.seen).toEqual({ needed: 1, cancelled: 0, answered: false });
			one.word.resolve(CHAT);
			if (fails) await expect(one.asked).rejects.toMatchObject({ key: "executionFailed" });
			else await one.asked;
		}
	});

	it("waits for its engine when the word comes first", async () => {
		const { asked, calls, word, dispatched } = bench();
		word.resolve(CHAT);
		await turns();
		const given = dispatched();
		calls[0]?.reply.resolve(given);
		expect(await asked).toMatchObject({ call: CHAT });
	});

	it("is refused at once by the account, and its engine let go", async () => {
		const one = bench();
		one.word.reject(new AiError("rateLimited"));
		await expect(one.asked).rejects.toMatchObject({ key: "rateLimited" });
		expect(one.calls).toHaveLength(1);
		expect(one.calls[0]?.signal.aborted).toBe(true);
	});

	it("does not show an answer that had begun when the account refuses", async () => {
		const one = bench();
		one.calls[0]?.reply.resolve(one.dispatched());
		await turns();
		one.word.reject(new AiError("authentication"));
		await expect(one.asked).rejects.toMatchObject({ key: "authentication" });
		await turns();
		expect(one.seen.cancelled).toBe(1);
	});

	it("tells of the account's refusal, not of the engine's failure", async () => {
		const one = bench();
		one.calls[0]?.reply.reject(new AiError("executionFailed"));
		await turns();
		one.word.reject(new AiError("rateLimited"));
		await expect(one.asked).rejects.toMatchObject({ key: "rateLimited" });
	});

	it("is asked again with what the account grants, where that is less", async () => {
		const one = bench();
		one.calls[0]?.reply.resolve(one.dispatched());
		await turns();
		one.word.resolve(SHORTER);
		await turns();
		expect(one.calls.map(({ call }) => call)).toEqual([CHAT, SHORTER]);
		expect(one.seen.cancelled).toBe(1);
		expect(one.calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
		one.calls[1]?.reply.resolve(one.dispatched());
		expect(await one.asked).toMatchObject({ call: SHORTER });
	});

	it("lets its engine go when the caller leaves", async () => {
		const one = bench();
		one.caller.abort();
		await turns();
		expect(one.calls[0]?.signal.aborted).toBe(true);
		one.word.resolve(CHAT);
		await expect(one.asked).rejects.toMatchObject({ key: "aborted" });
	});
});
