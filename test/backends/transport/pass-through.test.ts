/** Streams whose bytes the runtime moves: which side is gone, and what becomes of the other one. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { Watch } from "../../../src/backends/transport/event-stream.ts";
import { passThrough } from "../../../src/backends/transport/pass-through.ts";
import { callOf, drain, eventStream, failureOf } from "../upstream.ts";

const delta = (content: string) =>
	`data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const DONE = "data: [DONE]\n\n";
const LAST_WORDS = "data: last words\n\n";

afterEach(() => void vi.useRealTimers());

/** An upstream on a stream of bytes, as the body of a fetch: it fails when the fetch is aborted. */
function upstream(timeouts = { headerMs: 10_000, idleMs: 10_000, totalMs: 10_000 }) {
	const call = callOf(() => eventStream(""), { target: { timeouts } });
	const deadline = startDeadline(call.target, call.world.now, call.signal);
	let output: ReadableByteStreamController | undefined;
	let open = true;
	const source = new ReadableStream({
		type: "bytes",
		start(controller) {
			output = controller;
		},
		cancel() {
			open = false;
		},
	});
	const fail = (reason: unknown) => {
		if (!open) return;
		open = false;
		output?.error(reason);
	};
	deadline.signal.addEventListener("abort", () => fail(deadline.signal.reason));
	return {
		call,
		deadline,
		isOpen: () => open,
		write(text: string) {
			if (open) output?.enqueue(new TextEncoder().encode(text));
		},
		end() {
			open = false;
			output?.close();
		},
		reset: () => fail(new Error("connection reset")),
		begin: () => passThrough(call, source, deadline, new Watch(call, 1), () => LAST_WORDS),
	};
}

describe("a stream that is passed on as it is", () => {
	it("whose caller drops while the engine goes on, aborts the engine's fetch and ends as the caller's", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended, progress } = await engine.begin();
		const reader = events.getReader();
		expect(new TextDecoder().decode((await reader.read()).value)).toBe(delta("a"));
		await reader.cancel();
		// The engine does not know, and goes on: the next write finds that the caller is gone.
		for (let sent = 0; sent < 100 && !engine.deadline.signal.aborted; sent++) {
			engine.write(delta("b"));
			await scheduler.wait(1);
		}
		expect(engine.deadline.signal.aborted).toBe(true);
		expect(engine.isOpen()).toBe(false);
		expect(await ended).toMatchObject({ key: "aborted" });
		expect(progress.outputTokens).toBeGreaterThanOrEqual(1);
	});

	it("whose caller has gone when the engine ends, is not a whole answer without its end", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		await events.cancel();
		engine.write(delta("b"));
		expect(await ended).toMatchObject({ key: "aborted" });
	});

	it("whose engine breaks is cut: the caller, who is there, gets the last words", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.write(delta("b"));
		await scheduler.wait(1);
		engine.reset();
		expect(await passed).toEqual({ text: delta("a") + delta("b") + LAST_WORDS });
		expect(await ended).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' was cut off mid-answer",
		});
	});

	it("whose caller's signal fires is the caller's end", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.call.leave();
		await passed;
		expect(await ended).toMatchObject({ key: "aborted" });
		expect(engine.isOpen()).toBe(false);
	});

	it("whose time is up ends with that failure, told once", async () => {
		const engine = upstream({ headerMs: 10_000, idleMs: 10_000, totalMs: 250 });
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		expect(await drain(events)).toEqual({ text: delta("a") + LAST_WORDS });
		expect(await ended).toMatchObject({ key: "modelTimeout" });
		expect(engine.isOpen()).toBe(false);
	});

	it("that is whole has no failure, and the clock is stopped", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.write(FINISH + DONE);
		engine.end();
		expect(await passed).toEqual({ text: delta("a") + FINISH + DONE });
		expect(await ended).toBeUndefined();
		expect(engine.deadline.signal.aborted).toBe(false);
	});

	it("that sends comments alone is let go after 1 MiB of them, and passes on what came before its first event until then", async () => {
		const endless = upstream();
		const call = failureOf(endless.begin());
		const comment = `: ${"x".repeat(4_093)}\n\n`;
		for (let sent = 0; sent < 300 && endless.isOpen(); sent++) {
			endless.write(comment);
			if (sent % 20 === 0) await scheduler.wait(1);
		}
		expect(await call).toMatchObject({
			key: "executionFailed",
			description:
				"The backend 'lab' answered with something that is not a chat stream: it sent comments alone",
		});
		expect(endless.isOpen()).toBe(false);

		const patient = upstream();
		for (let sent = 0; sent < 20; sent++) patient.write(comment);
		patient.write(FINISH + DONE);
		patient.end();
		const { events } = await patient.begin();
		expect(await drain(events)).toEqual({ text: comment.repeat(20) + FINISH + DONE });
	});

	it("that fails before its first event fails the call, and lets the engine go", async () => {
		const engine = upstream();
		engine.write(": comment\n\n");
		const begun = engine.begin();
		engine.write("data: no JSON\n\n");
		expect(await failureOf(begun)).toMatchObject({ key: "executionFailed" });
		expect(engine.deadline.signal.aborted).toBe(true);
		expect(engine.isOpen()).toBe(false);
	});
});
