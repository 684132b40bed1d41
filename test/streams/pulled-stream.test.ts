import { describe, expect, it } from "vitest";
import { PulledStream, type Source } from "../../src/streams/pulled-stream.ts";

/** A source that yields the pieces, then ends or fails; `calls` records each call. */
function source(pieces: readonly string[], end: "end" | Error = "end") {
	const calls: string[] = [];
	let at = 0;
	const pulled: Source<string> = {
		async pull() {
			calls.push("pull");
			const piece = pieces[at++];
			if (piece === undefined && end !== "end") throw end;
			return piece;
		},
		async cancel(reason) {
			calls.push(`cancel ${reason}`);
		},
	};
	return { pulled, calls };
}

async function drain<Piece>({ pull }: Source<Piece>): Promise<Piece[]> {
	const pieces: Piece[] = [];
	for (let piece = await pull(); piece !== undefined; piece = await pull()) pieces.push(piece);
	return pieces;
}

describe("PulledStream", () => {
	it("pulls only what is read", async () => {
		const { pulled, calls } = source(["a", "b"]);
		const reader = new PulledStream(pulled).getReader();
		expect(calls).toEqual([]);
		expect(await reader.read()).toEqual({ done: false, value: "a" });
		expect(calls).toEqual(["pull"]);
		await reader.cancel("enough");
		expect(calls).toEqual(["pull", "cancel enough"]);
	});

	it("ends with its source, and errors with it", async () => {
		const pieces: string[] = [];
		for await (const piece of new PulledStream(source(["a", "b"]).pulled)) pieces.push(piece);
		expect(pieces).toEqual(["a", "b"]);
		const reader = new PulledStream(source(["a"], new Error("cut")).pulled).getReader();
		expect((await reader.read()).value).toBe("a");
		await expect(reader.read()).rejects.toThrow("cut");
	});

	it("reports a failure as an answer, and errors as for a lost connection, which the runtime does not print", async () => {
		const cut = new Error("cut");
		const stream = new PulledStream(source(["a"], cut).pulled);
		const reported: unknown[] = [];
		PulledStream.reportFailure(stream, (failure) => reported.push(failure));
		const reader = stream.getReader();
		await reader.read();
		await expect(reader.read()).rejects.toMatchObject({ message: "cut", cause: cut, retryable: true });
		expect(reported).toEqual([cut]);
	});

	it("does not report a connection that the runtime has lost", async () => {
		const lost = Object.assign(new Error("Network connection lost."), { retryable: true });
		const stream = new PulledStream(source([], lost).pulled);
		PulledStream.reportFailure(stream, () => expect.unreachable());
		await expect(stream.getReader().read()).rejects.toBe(lost);
	});

	it("returns its original source, and stays locked for other readers", () => {
		const { pulled } = source(["a"]);
		const stream = new PulledStream(pulled);
		expect(PulledStream.sourceOf(stream)).toBe(pulled);
		expect(stream.locked).toBe(true);
		expect(() => PulledStream.sourceOf(stream)).toThrow(TypeError);
	});
});

describe("PulledStream.sourceOf for other streams", () => {
	it("yields all pieces, ends, and passes a cancel on", async () => {
		const readable = new ReadableStream<string>({
			start(controller) {
				for (const piece of ["a", "b"]) controller.enqueue(piece);
				controller.close();
			},
		});
		expect(await drain(PulledStream.sourceOf(readable))).toEqual(["a", "b"]);
		let reason: unknown;
		const stream = new ReadableStream({
			cancel(cause) {
				reason = cause;
			},
		});
		await PulledStream.sourceOf(stream).cancel("enough");
		expect(reason).toBe("enough");
	});

	it("makes a stream that reports, and leaves one that does", async () => {
		const pulled = PulledStream.of(new Blob(["a"]).stream());
		expect(PulledStream.of(pulled)).toBe(pulled);
		expect(await new Response(pulled).text()).toBe("a");
	});

	it("errors if the stream errors", async () => {
		const stream = new ReadableStream({
			pull(controller) {
				controller.error(new Error("cut"));
			},
		});
		await expect(drain(PulledStream.sourceOf(stream))).rejects.toThrow("cut");
	});
});
