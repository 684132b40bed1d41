/** The limits of time and the outcomes of both calls. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PrefillLeg, Target } from "../../../../src/backends/backend.ts";
import { generateStream, generateValue } from "../../../../src/backends/openai/prefill-decode/calls.ts";
import type { Call } from "../../../../src/backends/transport/upstream-failure.ts";
import { AiError } from "../../../../src/core/errors.ts";
import type { Usage } from "../../../../src/core/usage.ts";
import type { DisaggregationName } from "../../../../src/pools/prefill-decode/settings.ts";
import { callOf, eventStream, json, neverAnswers, type Responder, TARGET } from "../../upstream.ts";

const GENERATION = { path: "/chat/completions", body: { model: "m" }, choices: 1 };
const HANDLE = { remote_block_ids: [1] };
const usage = (completion_tokens: number, cached_tokens: number): Usage => ({
	prompt_tokens: 100,
	completion_tokens,
	total_tokens: 100 + completion_tokens,
	prompt_tokens_details: { cached_tokens },
});
const PREFILLED = { choices: [{}], usage: usage(1, 40), kv_transfer_params: HANDLE };

interface Options {
	call?: Partial<Target["timeouts"]>;
	leg?: Partial<Target["timeouts"]>;
	now?: () => number;
}

/** A call of two replicas. `respond` is the prefill replica. */
function pairOf(protocol: DisaggregationName, respond: Responder, options: Options = {}) {
	const { requests, background, ...call } = callOf(respond, {
		target: { timeouts: { ...TARGET.timeouts, ...options.call } },
	});
	const outcomes: unknown[][] = [];
	const posts: { call: Call; body: object; headers: object | undefined }[] = [];
	const prefill: PrefillLeg = {
		target: {
			...TARGET,
			url: "http://prefill.test/v1",
			timeouts: { ...TARGET.timeouts, ...options.leg },
		},
		disaggregation: {
			...{ protocol, roles: {}, minPrefillTokens: 0, bootstrapPorts: {} },
			rewriteRemoteHost: false,
		},
		succeed: (counts) => outcomes.push(["succeeded", counts?.prompt_tokens]),
		fail: ({ key }) => outcomes.push(["failed", key]),
		countMissingHandle: () => outcomes.push(["no handle"]),
		cancel: () => outcomes.push(["cancelled"]),
	};
	const services = { ...call.services, ...(options.now && { now: options.now }) };
	/** The decode replica. */
	const post = async (sent: Call, body: object, headers?: object) => {
		posts.push({ call: sent, body, headers });
		return { usage: usage(7, 100) };
	};
	const pair: Call = { ...call, services, prefill };
	return { pair, post, posts, outcomes, requests, background };
}

function fakeTimers(): void {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
}

describe("calls in turn", () => {
	it.each([
		[300, 9_700],
		[9_999, 1],
		[20_000, 1],
		// The clock was set back.
		[-300, 10_000],
	])("after %i ms of the first, the second has %i ms", async (elapsed, totalMs) => {
		let time = 50_000;
		const respond: Responder = () => {
			time += elapsed;
			return json(PREFILLED);
		};
		const { pair, post, posts, outcomes, requests } = pairOf("nixl", respond, { now: () => time });
		expect(await generateValue(pair, GENERATION, post)).toEqual({ usage: usage(7, 40) });
		const headers = { "x-request-id": "uuid-1" };
		expect(posts).toMatchObject([
			{ call: { target: { timeouts: { totalMs } } }, body: { kv_transfer_params: HANDLE }, headers },
		]);
		expect(requests[0]?.headers.get("x-request-id")).toBe("uuid-1");
		expect(outcomes).toEqual([["succeeded", 100]]);
	});

	it("without a handle, the second replica processes the prompt", async () => {
		const { pair, post, posts, outcomes } = pairOf("nixl", () => json({ choices: [{}] }));
		expect(await generateValue(pair, GENERATION, post)).toEqual({ usage: usage(7, 100) });
		expect(posts).toMatchObject([{ body: GENERATION.body }]);
		expect(outcomes).toEqual([["succeeded", undefined], ["no handle"]]);
		const value = { kind: "value", value: { usage: usage(7, 100) } } as const;
		expect(await generateStream(pair, GENERATION, async () => value)).toEqual(value);
	});

	it.each<[Options, number, string]>([
		[{}, 3_000, "timeout"],
		[{ leg: { firstTokenMs: 500 } }, 1_500, "timeout"],
		[{ leg: { totalMs: 700 } }, 700, "modelTimeout"],
		[{ call: { totalMs: 800 } }, 800, "modelTimeout"],
	])("with %j, a silent prefill replica fails after %i ms", async (options, milliseconds, key) => {
		fakeTimers();
		const { pair, post, posts, outcomes } = pairOf("nixl", neverAnswers, options);
		const failed = generateValue(pair, GENERATION, post).catch((error: AiError) => error.key);
		await vi.advanceTimersByTimeAsync(milliseconds - 1);
		expect(outcomes).toEqual([]);
		await vi.advanceTimersByTimeAsync(1);
		expect(await failed).toBe(key);
		expect([outcomes, posts]).toEqual([[["failed", key]], []]);
	});
});

describe("calls at the same time", () => {
	it.each([
		[{}, 4_000],
		[{ firstTokenMs: 500 }, 2_500],
	])("with %j, the decode replica may be silent for %i ms", async (call, headerMs) => {
		const { pair, post, posts } = pairOf("sglang", () => json(PREFILLED), { call });
		await generateValue(pair, GENERATION, post);
		expect(posts).toMatchObject([{ call: { target: { timeouts: { headerMs } } } }]);
	});

	it.each([
		[999, usage(7, 40)],
		[1_001, { ...usage(7, 100), prompt_tokens_details: null }],
	])("the counts of a prefill replica that ends %i ms later", async (milliseconds, expected) => {
		fakeTimers();
		const late: Responder = () =>
			new Promise((resolve) => setTimeout(() => resolve(json(PREFILLED)), milliseconds));
		const { pair, post, outcomes, background } = pairOf("sglang", late);
		const value = generateValue(pair, GENERATION, post);
		await vi.advanceTimersByTimeAsync(1_000);
		expect(await value).toEqual({ usage: expected });
		// The reply is read although the answer is complete.
		await vi.advanceTimersByTimeAsync(1);
		await Promise.all(background);
		expect(outcomes).toEqual([["succeeded", 100]]);
	});

	it("a failure of the decode replica cancels the call of the other", async () => {
		const { pair, outcomes, background } = pairOf("sglang", neverAnswers);
		const failed = generateValue(pair, GENERATION, async () => {
			throw new AiError("executionFailed");
		});
		await expect(failed).rejects.toMatchObject({ key: "executionFailed" });
		await Promise.all(background);
		expect(outcomes).toEqual([["cancelled"]]);
	});

	it("a failure of the prefill replica cancels the call of the other", async () => {
		const { pair, outcomes } = pairOf("sglang", () => json({}, 500));
		let signal: AbortSignal | undefined;
		const failed = generateValue(pair, GENERATION, (sent) => {
			signal = sent.signal;
			return new Promise<never>(() => {});
		});
		await expect(failed).rejects.toMatchObject({ key: "executionFailed" });
		expect(signal?.aborted).toBe(true);
		expect(outcomes).toEqual([["failed", "executionFailed"]]);
	});

	it("a streamed reply of the prefill replica is read to its end", async () => {
		const events = [
			{ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] },
			{ choices: [], usage: usage(1, 40) },
		].map((event) => `data: ${JSON.stringify(event)}\n\n`);
		const respond = () => eventStream(`${events.join("")}data: [DONE]\n\n`);
		const { pair, post, outcomes } = pairOf("sglang", respond);
		expect(await generateValue(pair, GENERATION, post)).toEqual({ usage: usage(7, 40) });
		expect(outcomes).toEqual([["succeeded", 100]]);
	});
});
