/** Streams whose bytes the runtime moves: detects which side is gone, and ends the other one. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ChunkReader } from "../../../src/backends/transport/chunk-stream.ts";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { passThrough } from "../../../src/backends/transport/pass-through.ts";
import { callOf, drain, eventStream, failureOf, runningTimers, withFakeTimers } from "../upstream.ts";

const delta = (content: string) =>
	`data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const DONE = "data: [DONE]\n\n";
const ERROR_EVENT = "data: failure\n\n";

afterEach(() => void vi.useRealTimers());

/** An upstream with a byte stream. As the body of a fetch, it fails when the fetch is aborted. */
function upstream(timeouts = { headerMs: 10_000, idleMs: 10_000, totalMs: 10_000 }) {
	const call = callOf(() => eventStream(""), { target: { timeouts } });
	const deadline = startDeadline(call);
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
		begin: () =>
			passThrough(
				{ call, source, deadline },
				new ChunkReader(call, { choices: 1 }),
				{ onFailure: () => ERROR_EVENT },
				() => Promise.reject(new Error("the stream does not pass")),
			),
	};
}

/** Writes a token every 50 ms. Returns the times at which the count of tokens changed, with the count. */
async function countedWithin(
	milliseconds: number,
	engine: ReturnType<typeof upstream>,
	progress: { outputTokens: number },
): Promise<[atMs: number, tokens: number][]> {
	const counted: [atMs: number, tokens: number][] = [];
	for (let ms = 0; ms < milliseconds; ms += 50) {
		engine.write(delta("b"));
		await vi.advanceTimersByTimeAsync(50);
		if (progress.outputTokens !== counted.at(-1)?.[1]) counted.push([ms + 50, progress.outputTokens]);
	}
	return counted;
}

describe("passThrough", () => {
	it("aborts the engine's fetch if the caller disconnects while the engine sends, and ends as aborted", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended, progress } = await engine.begin();
		const reader = events.getReader();
		expect(new TextDecoder().decode((await reader.read()).value)).toBe(delta("a"));
		await reader.cancel();
		// The engine continues: the next write to the caller fails.
		for (let sent = 0; sent < 100 && !engine.deadline.signal.aborted; sent++) {
			engine.write(delta("b"));
			await scheduler.wait(1);
		}
		expect(engine.deadline.signal.aborted).toBe(true);
		expect(engine.isOpen()).toBe(false);
		expect(await ended).toMatchObject({ key: "aborted" });
		expect(progress.outputTokens).toBeGreaterThanOrEqual(1);
	});

	it("ends as aborted if the caller has disconnected before an incomplete answer ends", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		await events.cancel();
		engine.write(delta("b"));
		expect(await ended).toMatchObject({ key: "aborted" });
	});

	it("sends the error event to the caller if the engine's connection breaks", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.write(delta("b"));
		await scheduler.wait(1);
		engine.reset();
		expect(await passed).toEqual({ text: delta("a") + delta("b") + ERROR_EVENT });
		expect(await ended).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' was cut off mid-answer",
		});
	});

	it("ends as aborted if the caller's signal aborts", async () => {
		const engine = upstream();
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.call.disconnect();
		await passed;
		expect(await ended).toMatchObject({ key: "aborted" });
		expect(engine.isOpen()).toBe(false);
	});

	it("sends one error event when the limit of the call is exceeded", async () => {
		const engine = upstream({ headerMs: 10_000, idleMs: 10_000, totalMs: 250 });
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		expect(await drain(events)).toEqual({ text: delta("a") + ERROR_EVENT });
		expect(await ended).toMatchObject({ key: "modelTimeout" });
		expect(engine.isOpen()).toBe(false);
	});

	const OWN_ERROR = 'data: {"error":{"message":"m","code":503}}\n\n';
	const cut = { key: "executionFailed", description: "The backend 'lab' was cut off mid-answer" };
	const noStream = {
		key: "executionFailed",
		description: "The backend 'lab' answered with something that is not a chat stream",
	};
	const full = { key: "outOfCapacity", upstream: { status: 503 } };

	it.each<[string, string, string, object | undefined]>([
		["is complete", FINISH + DONE, FINISH + DONE, undefined],
		["lacks its end", FINISH, FINISH + DONE, undefined],
		["lacks its end and a blank line", FINISH.trimEnd(), FINISH + DONE, undefined],
		["lacks the blank line of its end", FINISH + DONE.trimEnd(), FINISH + DONE, undefined],
		[
			"is cut within an event after its finish",
			`${FINISH}data: {"choi`,
			`${FINISH}data: {"choi\n\n${DONE}`,
			undefined,
		],
		["goes on after its end", `${FINISH + DONE}data: oops`, `${FINISH + DONE}data: oops`, undefined],
		["is cut between events", delta("b"), delta("b") + ERROR_EVENT, cut],
		["is cut before a blank line", delta("b").trimEnd(), delta("b") + ERROR_EVENT, cut],
		["is cut within an event", 'data: {"choi', `data: {"choi\n\n${ERROR_EVENT}`, cut],
		["is cut within a comment", ": ka", `: ka\n\n${ERROR_EVENT}`, cut],
		["has an error of the engine", OWN_ERROR, OWN_ERROR, full],
		["has an error of the engine after others", delta("b") + OWN_ERROR, delta("b") + OWN_ERROR, full],
		["has an error of the engine without a blank line", OWN_ERROR.trimEnd(), OWN_ERROR, full],
		["has an error after its end", FINISH + DONE + OWN_ERROR, FINISH + DONE + OWN_ERROR, undefined],
	])("ends a stream that %s", async (_, sent, received, failure) => {
		for (const isTogether of [true, false]) {
			const engine = upstream();
			engine.write(delta("a") + (isTogether ? sent : ""));
			const { events, ended } = await engine.begin();
			if (!isTogether) engine.write(sent);
			engine.end();
			expect(await drain(events)).toEqual({ text: delta("a") + received });
			if (failure) expect(await ended).toMatchObject(failure);
			else expect(await ended).toBeUndefined();
		}
	});

	it.each(["data: oops\n\n", "data: oops\n\ndata: {"])(
		"aborts a stream of a malformed event: %j",
		async (sent) => {
			const engine = upstream();
			engine.write(delta("a"));
			const { events, ended } = await engine.begin();
			engine.write(sent);
			const { text } = await drain(events);
			expect(text.endsWith(ERROR_EVENT)).toBe(true);
			expect(text.split(ERROR_EVENT)).toHaveLength(2);
			expect(await ended).toMatchObject(noStream);
			expect(engine.isOpen()).toBe(false);
		},
	);

	it.each([
		["nothing", "", cut],
		["comments alone", ": ka\n\n: ka\n\n", cut],
		["half an event", 'data: {"choi', cut],
		["an error", OWN_ERROR, full],
		["a malformed event", "data: oops\n\n", noStream],
		["an end alone", DONE, { description: expect.stringContaining("it ended before it began") }],
	])("rejects a stream of %s", async (_, sent, failure) => {
		const engine = upstream();
		if (sent) engine.write(sent);
		engine.end();
		expect(await failureOf(engine.begin())).toMatchObject(failure);
		expect(engine.deadline.signal.aborted).toBe(true);
	});

	it("begins with a last event that lacks its blank line", async () => {
		const engine = upstream();
		engine.write(FINISH.trimEnd());
		engine.end();
		const { events, ended } = await engine.begin();
		expect(await drain(events)).toEqual({ text: FINISH + DONE });
		expect(await ended).toBeUndefined();
	});

	it("reads the second branch of a slow stream less and less often, at least once a second", async () => {
		vi.useFakeTimers();
		const engine = upstream({ headerMs: 60_000, idleMs: 60_000, totalMs: 60_000 });
		engine.write(delta("a"));
		const { events, progress } = await engine.begin();
		const passed = drain(events);
		expect(await countedWithin(4_000, engine, progress)).toEqual([
			[50, 1],
			[100, 3],
			[300, 7],
			[700, 15],
			[1_500, 31],
			[2_500, 51],
			[3_500, 71],
		]);
		engine.end();
		await passed;
	});

	it("reads at least four times within the limit of silence", async () => {
		vi.useFakeTimers();
		const engine = upstream({ headerMs: 60_000, idleMs: 800, totalMs: 60_000 });
		engine.write(delta("a"));
		const { events, progress } = await engine.begin();
		const passed = drain(events);
		expect(await countedWithin(1_000, engine, progress)).toEqual([
			[50, 1],
			[100, 3],
			[300, 7],
			[500, 11],
			[700, 15],
			[900, 19],
		]);
		engine.end();
		await passed;
	});

	describe("a stream that has ended", () => {
		withFakeTimers();

		it("leaves no timer behind", async () => {
			const engine = upstream();
			engine.write(delta("a"));
			const { events, ended } = await engine.begin();
			const passed = drain(events);
			await vi.advanceTimersByTimeAsync(10);
			engine.write(FINISH + DONE);
			engine.end();
			await passed;
			await ended;
			expect(runningTimers()).toBe(0);
		});
	});

	it("counts the pause before a read as silence", async () => {
		vi.useFakeTimers();
		const engine = upstream({ headerMs: 2_000, idleMs: 2_000, totalMs: 60_000 });
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		const startedAt = Date.now();
		let abortedAt = 0;
		engine.deadline.signal.addEventListener("abort", () => {
			abortedAt = Date.now();
		});
		await vi.advanceTimersByTimeAsync(10_000);
		expect(abortedAt - startedAt).toBe(2_000);
		expect(await passed).toEqual({ text: delta("a") + ERROR_EVENT });
		expect(await ended).toMatchObject({
			key: "timeout",
			description: "The backend 'lab' was silent for 2000 ms",
		});
	});

	it("waits one second at most for the end of the connection after the end of the answer", async () => {
		vi.useFakeTimers();
		const engine = upstream({ headerMs: 60_000, idleMs: 60_000, totalMs: 60_000 });
		engine.write(delta("a"));
		const { events, ended } = await engine.begin();
		const passed = drain(events);
		engine.write(FINISH + DONE);
		await vi.advanceTimersByTimeAsync(1_050);
		expect(engine.isOpen()).toBe(true);
		await vi.advanceTimersByTimeAsync(100);
		expect(engine.isOpen()).toBe(false);
		expect(await passed).toEqual({ text: delta("a") + FINISH + DONE });
		expect(await ended).toBeUndefined();
	});

	it("ends a complete answer without a failure, and clears the timer", async () => {
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

	it("aborts an engine after 1 MiB of comments without an event, and forwards fewer comments", async () => {
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

	it("rejects and aborts the fetch if the first event is invalid", async () => {
		const engine = upstream();
		engine.write(": comment\n\n");
		const begun = engine.begin();
		engine.write("data: no JSON\n\n");
		expect(await failureOf(begun)).toMatchObject({ key: "executionFailed" });
		expect(engine.deadline.signal.aborted).toBe(true);
		expect(engine.isOpen()).toBe(false);
	});
});
