import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import {
	DONE,
	type EventPiece,
	EventStream,
	frame,
	isDone,
	mapEvents,
	namedFrame,
	ownComment,
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

/** What a stream gave before it failed, and how it failed. */
async function readToFailure(stream: ReadableStream<Uint8Array>): Promise<{ text: string; error: unknown }> {
	const decoder = new TextDecoder();
	let given = "";
	try {
		for await (const chunk of stream) given += decoder.decode(chunk, { stream: true });
	} catch (error) {
		return { text: given, error };
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
				fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
				async (cuts) => {
					expect(await text(mapEvents(split(source, cuts), stages))).toBe(expected);
				},
			),
		);
	});

	it("counts a last event that lost its blank line", async () => {
		expect(await text(mapEvents(split("data: 1\n\ndata: 2", []), { onData: (data) => data }))).toBe("12");
	});

	it("hands an event on before the next one exists", async () => {
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

	it("keeps comments in their place, ours and an engine's", async () => {
		const source = `: waiting\n\ndata: 1\n\n${ownComment("backend=b attempts=2")}data: 2\n\n`;
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

	it("sends what came before a failing event and then errors, when nobody said what a failure looks like", async () => {
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

	it("errors when nobody said what a failure looks like", async () => {
		const failing = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.error(new AiError("timeout")),
		});
		await expect(text(mapEvents(failing, { onData: (data) => data }))).rejects.toMatchObject({ code: 3007 });
	});

	it("lets a cancel reach the source", async () => {
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

describe("a stream of events that were read already", () => {
	/** `asked` tells what was done with it. */
	function made(pieces: readonly EventPiece[]) {
		const asked: string[] = [];
		let at = 0;
		const stream = new EventStream({
			async pull() {
				asked.push("pull");
				return pieces[at++];
			},
			async cancel(reason) {
				asked.push(`cancel ${reason}`);
			},
		});
		return { stream, asked };
	}
	const piece = (bytes: string, ...events: EventPiece["events"]): EventPiece => ({
		bytes: encoder.encode(bytes),
		events,
	});

	it("is its bytes to whoever reads it", async () => {
		const { stream, asked } = made([piece("data: 1\n\n", { data: "1" }), piece(""), piece(": wait\n\n")]);
		expect(asked).toEqual([]);
		expect(await text(stream)).toBe("data: 1\n\n: wait\n\n");
	});

	it("is not read again by whoever rewrites it", async () => {
		const value = { a: 1 };
		const { stream } = made([
			piece("not looked at", { data: "1", value }),
			piece(": an engine's own\n\n"),
			piece("", { comment: "ganglion backend=b attempts=2" }, { data: "2" }),
		]);
		const seen: unknown[] = [];
		const onData = (data: string, given: unknown) => {
			seen.push(given);
			return `<${data}>`;
		};
		expect(await text(mapEvents(stream, { onData, onEnd: () => "|" }))).toBe(
			"<1>: ganglion backend=b attempts=2\n\n<2>|",
		);
		expect(seen[0]).toBe(value);
		expect(seen[1]).toBeUndefined();
	});

	it("may be silent for long: what follows comes at once, and nothing is kept of the silence", async () => {
		const turnsAfter = async (silent: number): Promise<number> => {
			const last = Promise.withResolvers<EventPiece>();
			const asked = Promise.withResolvers<void>();
			let pulls = 0;
			const stream = new EventStream({
				async pull() {
					if (pulls++ < silent) return piece("", { data: "" });
					asked.resolve();
					return last.promise;
				},
				async cancel() {},
			});
			const read = mapEvents(stream, { onData: (data) => data })
				.getReader()
				.read();
			await asked.promise;
			last.resolve(piece("", { data: "said" }));
			const turns = await turnsUntil(read);
			expect(new TextDecoder().decode((await read).value)).toBe("said");
			return turns;
		};
		expect(await turnsAfter(100_000)).toBe(await turnsAfter(10));
	});

	it.each([0, 10])("may fail after %s events of silence", async (silent) => {
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

	it("is pulled as it is asked for, hears of a cancel, and is nobody else's once it is taken over", async () => {
		const { stream, asked } = made([piece("", { data: "1" }), piece("", { data: "2" })]);
		const reader = mapEvents(stream, { onData: (data) => data }).getReader();
		expect(stream.locked).toBe(true);
		expect(() => EventStream.eventsOf(stream)).toThrow(TypeError);
		expect(new TextDecoder().decode((await reader.read()).value)).toBe("1");
		await reader.cancel("left");
		expect(asked).toEqual(["pull", "cancel left"]);
	});
});

describe("isDone", () => {
	it.each(["[DONE]", "[DONE] ", " [DONE]", "[DONE]\n"])("knows the end: %j", (data) => {
		expect(isDone(data)).toBe(true);
	});

	it.each(["", "[DONE", '"[DONE]"', "[DONE] {}"])("takes nothing else for it: %j", (data) => {
		expect(isDone(data)).toBe(false);
	});
});

describe("frames", () => {
	it("are one event each", () => {
		expect(frame({ a: 1 })).toBe('data: {"a":1}\n\n');
		expect(namedFrame("response.created", { a: 1 })).toBe('event: response.created\ndata: {"a":1}\n\n');
	});
});
