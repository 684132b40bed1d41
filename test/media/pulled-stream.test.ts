import { describe, expect, it } from "vitest";
import { PulledStream, type Source } from "../../src/media/pulled-stream.ts";

/** Gives the pieces, then what comes after them; tells what it was asked. */
function source(pieces: readonly string[], end: "end" | Error = "end") {
	const asked: string[] = [];
	let at = 0;
	const made: Source<string> = {
		async pull() {
			asked.push("pull");
			const piece = pieces[at++];
			if (piece === undefined && end !== "end") throw end;
			return piece;
		},
		async cancel(reason) {
			asked.push(`cancel ${reason}`);
		},
	};
	return { made, asked };
}

async function drain<Piece>({ pull }: Source<Piece>): Promise<Piece[]> {
	const pieces: Piece[] = [];
	for (let piece = await pull(); piece !== undefined; piece = await pull()) pieces.push(piece);
	return pieces;
}

describe("a stream that is pulled", () => {
	it("is made as far as it is read", async () => {
		const { made, asked } = source(["a", "b"]);
		const reader = new PulledStream(made).getReader();
		expect(asked).toEqual([]);
		expect(await reader.read()).toEqual({ done: false, value: "a" });
		expect(asked).toEqual(["pull"]);
		await reader.cancel("enough");
		expect(asked).toEqual(["pull", "cancel enough"]);
	});

	it("ends and errors as its source does", async () => {
		const pieces: string[] = [];
		for await (const piece of new PulledStream(source(["a", "b"]).made)) pieces.push(piece);
		expect(pieces).toEqual(["a", "b"]);
		const reader = new PulledStream(source(["a"], new Error("cut")).made).getReader();
		expect((await reader.read()).value).toBe("a");
		await expect(reader.read()).rejects.toThrow("cut");
	});

	it("is its source to whoever takes it over, and nobody else's", () => {
		const { made } = source(["a"]);
		const stream = new PulledStream(made);
		expect(PulledStream.sourceOf(stream)).toBe(made);
		expect(stream.locked).toBe(true);
		expect(() => PulledStream.sourceOf(stream)).toThrow(TypeError);
	});
});

describe("any other stream that is taken over", () => {
	it("gives what it has, ends, and hears of a cancel", async () => {
		const given = new ReadableStream<string>({
			start(controller) {
				for (const piece of ["a", "b"]) controller.enqueue(piece);
				controller.close();
			},
		});
		expect(await drain(PulledStream.sourceOf(given))).toEqual(["a", "b"]);
		let reason: unknown;
		const stream = new ReadableStream({
			cancel(given) {
				reason = given;
			},
		});
		await PulledStream.sourceOf(stream).cancel("enough");
		expect(reason).toBe("enough");
	});

	it("errors as it does", async () => {
		const stream = new ReadableStream({
			pull(controller) {
				controller.error(new Error("cut"));
			},
		});
		await expect(drain(PulledStream.sourceOf(stream))).rejects.toThrow("cut");
	});
});
