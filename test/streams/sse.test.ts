import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import {
	DONE,
	type EventPiece,
	EventStream,
	frame,
	gatewayComment,
	isDone,
	mapEvents,
	namedFrame,
} from "../../src/streams/sse.ts";
import { turnsUntil } from "../turns.ts";

const encoder = new TextEncoder();

/** The bytes of `text`, cut at the given fractions of its length. */
function split(text: string, cuts: number[]): ReadableStream<Uint8Array> {
	const bytes = encoder.encode(text);
	const places = [...new Set(cuts.map((cut) => Math.floor(cut * bytes.length)))].sort((a, b) => a - b);
	let from = 0;
	return new ReadableStream({
		pull(controller) {
			const to = places.shift() ?? bytes.length;
			if (to > from) controller.enqueue(bytes.slice(from, to));
			from = to;
			if (to >= bytes.length) controller.close();
		},
	});
}

const text = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

/** The text of a stream before its failure, and the failure. */
async function readToFailure(stream: ReadableStream<Uint8Array>): Promise<{ text: string; error: unknown }> {
	const decoder = new TextDecoder();
	let text = "";
	try {
		for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
	} catch (error) {
		return { text, error };
	}
	throw new Error("the stream did not fail");
}

describe("mapEvents", () => {
	it("gives the same output for any split of the bytes", async () => {
		const source = `${frame({ a: "héllo — 世界" })}: comment\n\nevent: x\ndata: {"b":1}\r\n\r\n${DONE}`;
		const expected = `<{"a":"héllo — 世界"}>: comment\n\n<{"b":1}><[DONE]>|`;
		const stages = { onData: (data: string) => `<${data}>`, onEnd: () => "|" };
		await fc.assert(
			fc.asyncProperty(
				// Most numbers of `fc.double` are close to 0.
				fc.array(fc.nat(100), { maxLength: 12 }),
				async (percents) => {
					const cuts = percents.map((percent) => percent / 100);
					expect(await text(mapEvents(split(source, cuts), stages))).toBe(expected);
				},
			),
		);
	});

	it("counts a last event that lost its blank line", async () => {
		expect(await text(mapEvents(split("data: 1\n\ndata: 2", []), { onData: (data) => data }))).toBe("12");
	});

	it("sends an event before the next one exists", async () => {
		let push: (chunk: Uint8Array) => void = () => {};
		const source = new ReadableStream<Uint8Array>({
			start(controller) {
				push = (chunk) => controller.enqueue(chunk);
			},
		});
		const reader = mapEvents(source, { onData: (data) => data }).getReader();
		push(encoder.encode("data: 1\n\ndata: half"));
		expect(new TextDecoder().decode((await reader.read()).value)).toBe("1");
		await reader.cancel();
	});

	it("keeps the comments of the gateway and of engines in their place", async () => {
		const source = `: waiting\n\ndata: 1\n\n${gatewayComment("backend=b attempts=2")}data: 2\n\n`;
		expect(await text(mapEvents(split(source, []), { onData: (data) => data }))).toBe(
			": waiting\n\n1: ganglion backend=b attempts=2\n\n2",
		);
	});

	it("turns a failure of the source, or of a stage, into the last text", async () => {
		const failing = new ReadableStream<Uint8Array>({
			start: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
			pull: (controller) => controller.error(new AiError("timeout")),
		});
		const onError = ({ code }: AiError) => `!${code}`;
		expect(await text(mapEvents(failing, { onData: (data) => data, onError }))).toBe("1!3007");

		let cancelled: unknown;
		const source = new ReadableStream<Uint8Array>({
			start: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
			cancel: (reason) => {
				cancelled = reason;
			},
		});
		const throwing = () => {
			throw new AiError("executionFailed");
		};
		expect(await text(mapEvents(source, { onData: throwing, onError }))).toBe("!5001");
		expect(cancelled).toBeInstanceOf(AiError);
	});

	it("sends what came before a failing event, for any split of the bytes", async () => {
		const stages = {
			onData(data: string) {
				if (data === "3") throw new AiError("executionFailed");
				return data;
			},
			onError: ({ code }: AiError) => `!${code}`,
		};
		const source = "data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n";
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
				async (cuts) => {
					expect(await text(mapEvents(split(source, cuts), stages))).toBe("12!5001");
				},
			),
		);
	});

	it("sends what came before a failing event and then errors, without `onError`", async () => {
		const onData = (data: string) => {
			if (data === "3") throw new AiError("executionFailed");
			return data;
		};
		const source = "data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n";
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
				async (cuts) => {
					expect(await readToFailure(mapEvents(split(source, cuts), { onData }))).toMatchObject({
						text: "12",
						error: { code: 5001 },
					});
				},
			),
		);
	});

	it("sends what a stage held back before the failure", async () => {
		const source = () =>
			new ReadableStream<Uint8Array>({
				start: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
				pull: (controller) => controller.error(new AiError("timeout")),
			});
		let held = "";
		const stages = {
			onData: (data: string) => {
				held += data;
				return "";
			},
			onFailure: () => held,
		};
		expect(await readToFailure(mapEvents(source(), stages))).toMatchObject({
			text: "1",
			error: { code: 3007 },
		});
		held = "";
		const onError = ({ code }: AiError) => `!${code}`;
		expect(await text(mapEvents(source(), { ...stages, onError }))).toBe("1!3007");
	});

	it("errors without `onError`", async () => {
		const failing = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.error(new AiError("timeout")),
		});
		await expect(text(mapEvents(failing, { onData: (data) => data }))).rejects.toMatchObject({ code: 3007 });
	});

	it("cancels the source when it is cancelled", async () => {
		let cancelled: unknown;
		const source = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
			cancel: (reason) => {
				cancelled = reason;
			},
		});
		const reader = mapEvents(source, { onData: (data) => data }).getReader();
		await reader.read();
		await reader.cancel("left");
		expect(cancelled).toBe("left");
	});
});

describe("EventStream", () => {
	/** `calls` records the calls of the source. */
	function made(pieces: readonly EventPiece[]) {
		const calls: string[] = [];
		let at = 0;
		const stream = new EventStream({
			async pull() {
				calls.push("pull");
				return pieces[at++];
			},
			async cancel(reason) {
				calls.push(`cancel ${reason}`);
			},
		});
		return { stream, calls };
	}
	const piece = (bytes: string, ...events: EventPiece["events"]): EventPiece => ({
		bytes: encoder.encode(bytes),
		events,
	});

	it("yields its bytes to a reader", async () => {
		const { stream, calls } = made([piece("data: 1\n\n", { data: "1" }), piece(""), piece(": wait\n\n")]);
		expect(calls).toEqual([]);
		expect(await text(stream)).toBe("data: 1\n\n: wait\n\n");
	});

	it("is not parsed again by mapEvents", async () => {
		const value = { a: 1 };
		const { stream } = made([
			piece("not looked at", { data: "1", value }),
			piece(": an engine's own\n\n"),
			piece("", { comment: "ganglion backend=b attempts=2" }, { data: "2" }),
		]);
		const values: unknown[] = [];
		const onData = (data: string, value: unknown) => {
			values.push(value);
			return `<${data}>`;
		};
		expect(await text(mapEvents(stream, { onData, onEnd: () => "|" }))).toBe(
			"<1>: ganglion backend=b attempts=2\n\n<2>|",
		);
		expect(values[0]).toBe(value);
		expect(values[1]).toBeUndefined();
	});

	it("may have any number of events without output, without a promise chain that grows with them", async () => {
		const turnsAfter = async (silent: number): Promise<number> => {
			const last = Promise.withResolvers<EventPiece>();
			const pulled = Promise.withResolvers<void>();
			let pulls = 0;
			const stream = new EventStream({
				async pull() {
					if (pulls++ < silent) return piece("", { data: "" });
					pulled.resolve();
					return last.promise;
				},
				async cancel() {},
			});
			const read = mapEvents(stream, { onData: (data) => data })
				.getReader()
				.read();
			await pulled.promise;
			last.resolve(piece("", { data: "last" }));
			const turns = await turnsUntil(read);
			expect(new TextDecoder().decode((await read).value)).toBe("last");
			return turns;
		};
		expect(await turnsAfter(100_000)).toBe(await turnsAfter(10));
	});

	it.each([0, 10])("may fail after %s events without output", async (silent) => {
		let pulls = 0;
		const failing = () =>
			new EventStream({
				async pull() {
					if (pulls++ < silent) return piece("", { data: "" });
					throw new Error("cut");
				},
				async cancel() {},
			});
		const onData = (data: string) => data;
		expect(await text(mapEvents(failing(), { onData, onError: ({ code }) => `!${code}` }))).toBe("!5001");
		pulls = 0;
		await expect(text(mapEvents(failing(), { onData }))).rejects.toThrow("cut");
	});

	it("is pulled on demand, is cancelled with its reader, and is locked by eventsOf", async () => {
		const { stream, calls } = made([piece("", { data: "1" }), piece("", { data: "2" })]);
		const reader = mapEvents(stream, { onData: (data) => data }).getReader();
		expect(stream.locked).toBe(true);
		expect(() => EventStream.eventsOf(stream)).toThrow(TypeError);
		expect(new TextDecoder().decode((await reader.read()).value)).toBe("1");
		await reader.cancel("left");
		expect(calls).toEqual(["pull", "cancel left"]);
	});
});

describe("isDone", () => {
	it.each(["[DONE]", "[DONE] ", " [DONE]", "[DONE]\n", '"[DONE]"', "[done]"])("accepts %j", (data) => {
		expect(isDone(data)).toBe(true);
	});

	it.each(["", "[DONE", "DONE", "[DONE] {}"])("rejects %j", (data) => {
		expect(isDone(data)).toBe(false);
	});
});

describe("frames", () => {
	it("are one event each", () => {
		expect(frame({ a: 1 })).toBe('data: {"a":1}\n\n');
		expect(namedFrame("response.created", { a: 1 })).toBe('event: response.created\ndata: {"a":1}\n\n');
	});
});
