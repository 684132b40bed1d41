/** What becomes of a stream whose reader throws, which none should: one failure, and the upstream is let go. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { passThrough } from "../../../src/backends/transport/pass-through.ts";
import { StreamProgress } from "../../../src/backends/transport/progress.ts";
import { type EventReader, relay } from "../../../src/backends/transport/relay.ts";
import { callOf, drain, eventStream, tap } from "../upstream.ts";

const GOOD = "data: good\n\n";
const ODD = "data: odd\n\n";

const reader = (): EventReader => {
	let seen = 0;
	return {
		format: "sse",
		progress: new StreamProgress(),
		sawEvent: true,
		done: false,
		see() {
			if (seen++ > 0) throw new TypeError("not a function");
			return undefined;
		},
		pass: (bytes) => (bytes.length > 0 ? { bytes, events: [{ data: "good" }] } : undefined),
		end: () => undefined,
	};
};

function started() {
	const call = callOf(() => eventStream(""));
	const deadline = startDeadline(call.target, call.world.now, call.signal);
	onTestFinished(() => deadline.close());
	return { call, deadline };
}

describe("a reader that throws", () => {
	it.each([
		["with more to come", [GOOD, ODD]],
		["after some of it came to nothing", [GOOD, ODD.slice(0, 4), ODD.slice(4)]],
	])("is a failure of the gateway's where events are relayed, %s", async (_, pieces) => {
		const { call, deadline } = started();
		const upstream = tap();
		for (const piece of pieces) upstream.push(piece);
		const { events } = await relay(call, upstream.body, deadline, reader());
		const { text, error } = await drain(events);
		expect(text).toBe(GOOD);
		expect(error).toMatchObject({ key: "executionFailed", cause: new TypeError("not a function") });
		expect(upstream.cancelled).toBe(true);
		expect(deadline.signal.reason).toBe(error);
	});

	it("is one where they are passed on as they are: it is told once, and behind it nothing", async () => {
		const { call, deadline } = started();
		let output: ReadableByteStreamController | undefined;
		const upstream = new ReadableStream({
			type: "bytes",
			start(controller) {
				output = controller;
			},
		});
		// As the runtime does with the body of a fetch.
		deadline.signal.addEventListener("abort", () => output?.error(deadline.signal.reason));
		const write = (text: string) => output?.enqueue(new TextEncoder().encode(text));
		const begun = passThrough(call, upstream, deadline, reader(), ({ key }) => `!${key}`);
		write(GOOD);
		const { events, ended } = await begun;
		const drained = drain(events);
		write(ODD);
		expect(await drained).toEqual({ text: `${GOOD}${ODD}!executionFailed` });
		expect(deadline.signal.aborted).toBe(true);
		expect(await ended).toMatchObject({ key: "executionFailed", cause: new TypeError("not a function") });
	});
});
