import { describe, expect, it } from "vitest";
import { AbandonableSource, ObservedSource, type StreamEnd } from "../../src/streams/observed-source.ts";
import type { Source } from "../../src/streams/pulled-stream.ts";

/** A source whose pulls settle only with `resolve`. */
function held() {
	let pending = Promise.withResolvers<string | undefined>();
	const cancels: unknown[] = [];
	const source: Source<string> = {
		pull: () => pending.promise,
		cancel: async (reason) => void cancels.push(reason),
	};
	const resolve = (piece: string | undefined) => {
		pending.resolve(piece);
		pending = Promise.withResolvers();
	};
	return { source, cancels, resolve };
}

function listener() {
	const ends: StreamEnd[] = [];
	return { ends, pass: (piece: string) => piece.toUpperCase(), end: (end: StreamEnd) => void ends.push(end) };
}

describe("ObservedSource", () => {
	it("shows what passes, and the end", async () => {
		const { source, resolve } = held();
		const seen = listener();
		const observed = new ObservedSource(source, seen);
		const first = observed.pull();
		resolve("a");
		expect(await first).toBe("A");
		const last = observed.pull();
		resolve(undefined);
		expect(await last).toBeUndefined();
		expect(seen.ends).toEqual([{ kind: "complete" }]);
	});

	it("shows a cancel as the end, not what the pull under way brings", async () => {
		const { source, cancels, resolve } = held();
		const seen = listener();
		const observed = new ObservedSource(source, seen);
		let hasSettled = false;
		void observed.pull().finally(() => {
			hasSettled = true;
		});
		await observed.cancel("left");
		resolve(undefined);
		await scheduler.wait(1);
		expect({ cancels, hasSettled, ends: seen.ends }).toEqual({
			cancels: ["left"],
			hasSettled: false,
			ends: [{ kind: "cancelled", reason: "left" }],
		});
	});
});

describe("AbandonableSource", () => {
	it("rejects the pull under way, and later ones, although the source below settles nothing", async () => {
		const { source, cancels } = held();
		const seen = listener();
		const outer = new AbandonableSource(new ObservedSource(source, listener()), seen);
		const pull = outer.pull();
		outer.abandon("left");
		await expect(pull).rejects.toBe("left");
		await expect(outer.pull()).rejects.toBe("left");
		expect({ cancels, ends: seen.ends }).toEqual({
			cancels: ["left"],
			ends: [{ kind: "cancelled", reason: "left" }],
		});
	});

	it("passes what its source has", async () => {
		const { source, resolve } = held();
		const outer = new AbandonableSource(source, listener());
		const pull = outer.pull();
		resolve("a");
		expect(await pull).toBe("A");
	});
});
