import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { observeAnswer } from "../../../src/pipeline/dispatch/observed-answer.ts";
import type { Flight } from "../../../src/pools/flight.ts";
import { Pool } from "../../../src/pools/pool.ts";
import type { Answer, TaskCall } from "../../../src/tasks/task.ts";
import { CHAT, streamed } from "./world.ts";

const REQUEST = { inputTokens: 936, blocks: [], blockTokens: 512, streamed: true };
const USAGE = { prompt_tokens: 936, completion_tokens: 5, total_tokens: 941 };

function flight() {
	const pool = new Pool(["http://1"]);
	const choice = pool.choose(REQUEST, 0);
	if (!choice) throw new Error("no replica");
	const started: Flight = pool.start(choice, REQUEST, 0);
	const { replica } = started;
	return {
		started,
		load: () => [replica.prefillTokens > 0, replica.decodeTokens > 0, replica.requests],
	};
}

const WAITS = [true, false, 1];
const DECODES = [false, true, 1];
const FREE = [false, false, 0];

/** A stream of these texts, which then ends or fails. */
function stream(texts: string[], failure?: AiError): Answer<"text-generation"> {
	const encoder = new TextEncoder();
	const events = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				const text = texts.shift();
				if (text !== undefined) controller.enqueue(encoder.encode(text));
				else if (failure) controller.error(failure);
				else controller.close();
			},
		},
		{ highWaterMark: 0 },
	);
	return { kind: "stream", events, progress: { usage: USAGE, outputTokens: 5 } };
}

const readerOf = (answer: Answer) => {
	if (answer.kind !== "stream") throw new Error("no stream");
	return answer.events.getReader();
};

describe("observeAnswer", () => {
	it("frees the replica when a value is complete", () => {
		const { started, load } = flight();
		const output = { choices: [], usage: USAGE } as never;
		observeAnswer({ kind: "value", output }, CHAT, started, () => 5);
		expect(load()).toEqual(FREE);
	});

	it("reports the first event as the first token, not a comment, and then the end", async () => {
		const { started, load } = flight();
		const texts = [": wait\n\n", 'data: {"a":1}\n\n', "data: [DONE]\n\n"];
		const reader = readerOf(observeAnswer(stream(texts), streamed(), started, () => 5));
		await reader.read();
		expect(load()).toEqual(WAITS);
		await reader.read();
		expect(load()).toEqual(DECODES);
		while (!(await reader.read()).done);
		expect(load()).toEqual(FREE);
	});

	it("frees the replica when the stream fails, and passes the failure on", async () => {
		const { started, load } = flight();
		const failure = new AiError("executionFailed");
		const reader = readerOf(observeAnswer(stream(["data: 1\n\n"], failure), streamed(), started, () => 5));
		await reader.read();
		await expect(reader.read()).rejects.toBe(failure);
		expect(load()).toEqual(FREE);
	});

	it("frees the replica when the reader cancels", async () => {
		const { started, load } = flight();
		const reader = readerOf(observeAnswer(stream(["data: 1\n\n"]), streamed(), started, () => 5));
		await reader.cancel();
		expect(load()).toEqual(FREE);
	});

	it("leaves a stream that passes through unread, until it has ended", async () => {
		const { started, load } = flight();
		const ended = Promise.withResolvers<undefined>();
		const answer = { ...stream([]), ended: ended.promise } as Answer;
		expect(observeAnswer(answer, streamed(), started, () => 5)).toBe(answer);
		expect(load()).toEqual(WAITS);
		ended.resolve(undefined);
		await ended.promise;
		await Promise.resolve();
		expect(load()).toEqual(FREE);
	});
});

describe("the end of a flight", () => {
	/** A flight that records its events. */
	function recorded() {
		const seen: unknown[][] = [];
		const { replica } = flight().started;
		const one: Flight = {
			replica,
			firstToken: (at) => void seen.push(["first", at]),
			end: (at, usage) => void seen.push(["end", at, ...(usage ? [usage] : [])]),
		};
		return { one, seen };
	}
	const COUNTS = { inputTokens: 936, outputTokens: 5 };

	it("has the usage of a complete value, with the cached tokens that its engine counted", () => {
		for (const [details, cached] of [
			[{}, {}],
			[{ prompt_tokens_details: { cached_tokens: 0 } }, { cachedTokens: 0 }],
			[{ prompt_tokens_details: { cached_tokens: 512 } }, { cachedTokens: 512 }],
		]) {
			const { one, seen } = recorded();
			const output = { choices: [], usage: { ...USAGE, ...details } } as never;
			observeAnswer({ kind: "value", output }, CHAT, one, () => 5);
			expect(seen).toEqual([["end", 5, { ...COUNTS, ...cached }]]);
		}
	});

	it("comes once after the first token of a stream, with its usage", async () => {
		const { one, seen } = recorded();
		let now = 0;
		const texts = ["data: 1\n\n", "data: 2\n\n"];
		const reader = readerOf(observeAnswer(stream(texts), streamed(), one, () => ++now));
		while (!(await reader.read()).done);
		expect(seen).toEqual([
			["first", 1],
			["end", 2, COUNTS],
		]);
	});

	it("has no usage if a stream that passes through fails", async () => {
		for (const [failure, usage] of [
			[undefined, [COUNTS]],
			[new AiError("executionFailed"), []],
		] as const) {
			const { one, seen } = recorded();
			observeAnswer({ ...stream([]), ended: Promise.resolve(failure) } as Answer, streamed(), one, () => 5);
			await new Promise((resolve) => setTimeout(resolve));
			expect(seen).toEqual([["end", 5, ...usage]]);
		}
	});

	it("comes with the end of the request for a live session", () => {
		const { one, seen } = recorded();
		const call = { task: "live-transcription", input: {} } as TaskCall;
		observeAnswer({ kind: "value", output: {} as never }, call, one, () => 5);
		expect(seen).toEqual([]);
	});
});
