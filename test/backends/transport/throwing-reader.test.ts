/** A stream whose event reader throws, which none should: it ends with one failure, and the upstream is aborted. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import type { EventReader } from "../../../src/backends/transport/event-scanner.ts";
import { passThrough } from "../../../src/backends/transport/pass-through.ts";
import { StreamProgress } from "../../../src/backends/transport/progress.ts";
import { relay } from "../../../src/backends/transport/relay.ts";
import { callOf, drain, eventStream, tap } from "../upstream.ts";

const GOOD = "data: good\n\n";
const ODD = "data: odd\n\n";

const eventReader = (): EventReader => {
	let reads = 0;
	return {
		format: "sse",
		progress: new StreamProgress(),
		lastWasEvent: true,
		done: false,
		read(_event, events) {
			if (reads++ > 0) throw new TypeError("not a function");
			events.push({ data: "good" });
			return undefined;
		},
		output: (piece) => (piece.bytes.length > 0 ? piece : undefined),
		end: () => undefined,
	};
};

function started() {
	const call = callOf(() => eventStream(""));
	const deadline = startDeadline(call);
	onTestFinished(() => deadline.close());
	return { call, deadline };
}

describe("an event reader that throws", () => {
	it.each([
		["an event in one piece", [GOOD, ODD]],
		["an event in two pieces", [GOOD, ODD.slice(0, 4), ODD.slice(4)]],
	])("fails a relayed stream: %s", async (_, pieces) => {
		const { call, deadline } = started();
		const upstream = tap();
		for (const piece of pieces) upstream.push(piece);
		const { events } = await relay({ call, source: upstream.body, deadline }, eventReader());
		const { text, error } = await drain(events);
		expect(text).toBe(GOOD);
		expect(error).toMatchObject({ key: "executionFailed", cause: new TypeError("not a function") });
		expect(upstream.cancelled).toBe(true);
		expect(deadline.signal.reason).toBe(error);
	});

	it("sends one error event at the end of a stream that is passed through", async () => {
		const { call, deadline } = started();
		let output: ReadableByteStreamController | undefined;
		const upstream = new ReadableStream({
			type: "bytes",
			start(controller) {
				output = controller;
			},
		});
		// The runtime does this with the body of a fetch.
		deadline.signal.addEventListener("abort", () => output?.error(deadline.signal.reason));
		const write = (text: string) => output?.enqueue(new TextEncoder().encode(text));
		const opening = passThrough(
			{ call, source: upstream, deadline },
			eventReader(),
			{ onFailure: ({ key }) => `!${key}` },
			() => Promise.reject(new Error("the stream does not pass")),
		);
		write(GOOD);
		const { events, ended } = await opening;
		const drained = drain(events);
		write(ODD);
		expect(await drained).toEqual({ text: `${GOOD}${ODD}!executionFailed` });
		expect(deadline.signal.aborted).toBe(true);
		expect(await ended).toMatchObject({ key: "executionFailed", cause: new TypeError("not a function") });
	});
});
