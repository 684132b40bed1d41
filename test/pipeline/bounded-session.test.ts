import { describe, expect, it } from "vitest";
import { liveTranscription } from "../../src/backends/simulator/live/index.ts";
import type { StartTimer } from "../../src/core/lazy-timer.ts";
import { boundSession } from "../../src/pipeline/bounded-session.ts";
import type { LiveTranscription, TranscriptionEvent } from "../../src/tasks/live-transcription/types.ts";
import { audio, silence, turns } from "../backends/simulator/live/audio.ts";

const INPUT = {
	samples: { encoding: "linear16" as const, sample_rate: 16_000, channels: 1 },
	division: turns(),
};

async function session(): Promise<LiveTranscription> {
	const answer = await liveTranscription(INPUT);
	if (answer.kind !== "value") throw new Error("a stream");
	return answer.output;
}

/** Timers that the test fires. */
function clock() {
	const timers: { ms: number; isCancelled: boolean; fire(): void }[] = [];
	const startTimer: StartTimer = (ms, onTime) => {
		const timer = { ms, isCancelled: false, fire: onTime };
		timers.push(timer);
		return {
			cancel: () => {
				timer.isCancelled = true;
			},
		};
	};
	return { startTimer, timers };
}

async function read(
	readable: ReadableStream<TranscriptionEvent>,
): Promise<{ kinds: string[]; error?: unknown }> {
	const kinds: string[] = [];
	try {
		for await (const { kind } of readable) kinds.push(kind);
		return { kinds };
	} catch (error) {
		return { kinds, error };
	}
}

describe("a session that a budget limits", () => {
	it("ends before it exceeds the reservation", async () => {
		const second = silence(1);
		const { startTimer } = clock();
		const bounded = boundSession(await session(), INPUT, { seconds: 3, ms: 1000, startTimer });
		const all = read(bounded.readable);
		const writer = bounded.writable.getWriter();
		for (let i = 0; i < 3; i++) await writer.write(audio(second));
		expect([bounded.isAtBound(), bounded.sentSeconds()]).toEqual([false, 3]);
		await writer.write(audio(second)).catch(() => {});
		expect((await all).error).toMatchObject({
			key: "budgetExceeded",
			description:
				"This session has received the 3 seconds of audio that were reserved of a daily budget of neurons",
		});
		expect([bounded.isAtBound(), bounded.sentSeconds()]).toEqual([true, 3]);
	});

	it("uses the engine's duration if the audio's is unknown, for each channel", async () => {
		const { startTimer } = clock();
		const events: TranscriptionEvent[] = [1, 2, 3].map((end) => ({
			kind: "segment",
			is_final: true,
			speech_final: true,
			from_finalize: false,
			...{ start: end - 1, end, transcript: "a", words: [] },
		}));
		let cancelled = false;
		const readable = new ReadableStream<TranscriptionEvent>(
			{
				pull: (controller) => controller.enqueue(events.shift()),
				cancel: () => {
					cancelled = true;
				},
			},
			{ highWaterMark: 0 },
		);
		const input = { ...INPUT, samples: { ...INPUT.samples, encoding: "opus" as const, channels: 2 } };
		const bounds = { seconds: 4, ms: 1000, startTimer };
		const bounded = boundSession({ readable, writable: new WritableStream() }, input, bounds);
		const { kinds, error } = await read(bounded.readable);
		expect(kinds).toHaveLength(2);
		expect(error).toMatchObject({ key: "budgetExceeded" });
		expect([bounded.isAtBound(), bounded.sentSeconds()]).toEqual([true, 4]);
		expect(cancelled).toBe(true);
	});
});

describe("any session", () => {
	it("continues without a budget, and reports its end", async () => {
		const { startTimer, timers } = clock();
		const bounded = boundSession(await session(), INPUT, { ms: 1000, startTimer });
		const all = read(bounded.readable);
		const writer = bounded.writable.getWriter();
		for (let i = 0; i < 400; i++) await writer.write(audio(silence(1)));
		await writer.close();
		const { kinds, error } = await all;
		expect(error).toBeUndefined();
		expect(kinds.at(-1)).toBe("ended");
		expect(bounded.isAtBound()).toBe(false);
		expect(timers.map(({ ms, isCancelled }) => [ms, isCancelled])).toEqual([[1000, true]]);
	});

	it("ends before its reservation does", async () => {
		const { startTimer, timers } = clock();
		const bounded = boundSession(await session(), INPUT, { ms: 1000, startTimer });
		const all = read(bounded.readable);
		await bounded.writable.getWriter().write(audio(silence(2)));
		timers[0]?.fire();
		expect((await all).error).toMatchObject({ key: "timeout" });
		expect([bounded.isAtBound(), bounded.sentSeconds()]).toEqual([true, 2]);
	});
});
