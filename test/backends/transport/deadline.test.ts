/** The limits hold when the clock is set back during a call. */
import { describe, expect, it, vi } from "vitest";
import { ChunkReader } from "../../../src/backends/transport/chunk-stream.ts";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { EventScanner } from "../../../src/backends/transport/event-scanner.ts";
import { callOf, json, type TestCall, withFakeTimers } from "../upstream.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const timeouts = { headerMs: 1_000, idleMs: 2_000, totalMs: 10_000 };

// Not in the past: objects of other tests set their alarms by this clock, and the runtime would start those of the past at once.
withFakeTimers(() => Date.now() + DAY_MS);

const setBack = () => vi.setSystemTime(Date.now() - HOUR_MS);
const testCall = (): TestCall => callOf(() => json({}), { target: { timeouts } });

it("a call whose caller has disconnected ends the first race", async () => {
	const call = testCall();
	call.disconnect();
	const deadline = startDeadline(call);
	await expect(deadline.race(new Promise(() => {}))).rejects.toMatchObject({ key: "aborted" });
	expect(deadline.signal.reason).toMatchObject({ key: "aborted" });
});

describe("a pause of the process that is longer than the limit", () => {
	/** A read of up to 2 s, whose timer fires after 3 s. */
	async function paused() {
		const deadline = startDeadline(testCall());
		deadline.expect(timeouts.idleMs);
		await vi.advanceTimersByTimeAsync(1_999);
		vi.setSystemTime(Date.now() + 1_000);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.aborted).toBe(false);
		return deadline;
	}

	it("leaves time to read what the upstream has sent", async () => {
		const deadline = await paused();
		deadline.expect(timeouts.idleMs);
		await vi.advanceTimersByTimeAsync(1_999);
		expect(deadline.signal.aborted).toBe(false);
		deadline.close();
	});

	it("leaves the same time, once, after the limit of the complete call", async () => {
		const deadline = startDeadline(testCall(), "complete");
		await vi.advanceTimersByTimeAsync(9_999);
		vi.setSystemTime(Date.now() + 1_000);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(499);
		expect(deadline.signal.aborted).toBe(false);
		vi.setSystemTime(Date.now() + 1_000);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({
			key: "modelTimeout",
			description: "The backend 'lab' took longer than 10000 ms",
		});
	});

	it("does not wait longer for an upstream that has sent nothing", async () => {
		const deadline = await paused();
		await vi.advanceTimersByTimeAsync(499);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({
			key: "timeout",
			description: "The backend 'lab' was silent for 2000 ms",
		});
	});

	it("extends the complete call by the same time at most", async () => {
		const deadline = startDeadline(testCall());
		deadline.expect(timeouts.totalMs);
		vi.setSystemTime(Date.now() + timeouts.totalMs);
		await vi.advanceTimersByTimeAsync(1_499);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ key: "modelTimeout" });
	});
});

describe("a clock that is set back", () => {
	it("does not extend the complete call of a busy upstream", async () => {
		const deadline = startDeadline(testCall());
		setBack();
		for (let second = 0; second < 10; second++) {
			expect(deadline.signal.aborted).toBe(false);
			deadline.expect(timeouts.idleMs);
			if (second === 5) setBack();
			await vi.advanceTimersByTimeAsync(1_000);
		}
		expect(deadline.signal.reason).toMatchObject({
			key: "modelTimeout",
			description: "The backend 'lab' took longer than 10000 ms",
		});
	});

	it("does not extend the wait of an upstream that is silent", async () => {
		const deadline = startDeadline(testCall());
		setBack();
		await vi.advanceTimersByTimeAsync(999);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ key: "timeout" });
	});

	it("does not extend a wait for which the timer is set again", async () => {
		const deadline = startDeadline(testCall());
		// The timer of the header, due at 1,000 ms, is kept for this read, due at 2,500 ms.
		await vi.advanceTimersByTimeAsync(500);
		deadline.expect(timeouts.idleMs);
		setBack();
		await vi.advanceTimersByTimeAsync(1_999);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ key: "timeout" });
	});

	it("does not end a call early", async () => {
		const deadline = startDeadline(testCall());
		deadline.pause();
		setBack();
		await vi.advanceTimersByTimeAsync(9_999);
		expect(deadline.signal.aborted).toBe(false);
		expect(deadline.elapsedMs()).toBe(9_999);
		deadline.close();
	});

	it("does not extend the wait for the first event", async () => {
		const call = callOf(() => json({}), { target: { timeouts: { ...timeouts, firstTokenMs: 3_000 } } });
		const deadline = startDeadline(call);
		const reader = new ChunkReader(call, { choices: 1 });
		const scanner = new EventScanner({ call, deadline, source: new ReadableStream() }, reader);
		await vi.advanceTimersByTimeAsync(900);
		setBack();
		scanner.push(new TextEncoder().encode(": note\n\n"));
		scanner.expectRead();
		await vi.advanceTimersByTimeAsync(2_099);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ key: "timeout" });
	});

	it("gives a stream that has begun its limit of silence", async () => {
		const call = callOf(() => json({}), { target: { timeouts: { ...timeouts, firstTokenMs: 3_000 } } });
		const deadline = startDeadline(call);
		const scanner = new EventScanner(
			{ call, deadline, source: new ReadableStream() },
			new ChunkReader(call, { choices: 1 }),
		);
		await vi.advanceTimersByTimeAsync(900);
		scanner.push(new TextEncoder().encode('data: {"choices":[]}\n\n'));
		scanner.expectRead();
		await vi.advanceTimersByTimeAsync(timeouts.idleMs - 1);
		expect(deadline.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ key: "timeout" });
	});
});
