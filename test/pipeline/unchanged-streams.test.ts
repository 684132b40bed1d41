import { describe, expect, it } from "vitest";
import { UnchangedStreams } from "../../src/pipeline/unchanged-streams.ts";

const MINUTE = 60_000;
const ENGINE = { backend: "vllm", engineModel: "acme/chat", model: "acme/chat" };
const UNCHANGED = { isUnchanged: true, toolCalls: 0 };

function table() {
	const clock = { now: 0 };
	return { clock, streams: new UnchangedStreams({ now: () => clock.now }) };
}

describe("UnchangedStreams", () => {
	it("passes streams of an engine after one that was read and needed no change", () => {
		const { streams } = table();
		expect(streams.canPass(ENGINE, false)).toBe(false);
		streams.record(ENGINE, UNCHANGED);
		expect(streams.canPass(ENGINE, false)).toBe(true);
		streams.record(ENGINE, { ...UNCHANGED, isUnchanged: false });
		expect(streams.canPass(ENGINE, false)).toBe(false);
	});

	it.each([
		["another backend", { backend: "sglang" }],
		["another model of the engine", { engineModel: "acme/other" }],
		["another model of the caller", { model: "acme/other" }],
	])("knows nothing of %s", (_, other) => {
		const { streams } = table();
		streams.record(ENGINE, UNCHANGED);
		expect(streams.canPass({ ...ENGINE, ...other }, false)).toBe(false);
	});

	it("passes streams with tools only if an earlier one had a tool call", () => {
		const { streams } = table();
		streams.record(ENGINE, UNCHANGED);
		expect(streams.canPass(ENGINE, true)).toBe(false);
		streams.record(ENGINE, { ...UNCHANGED, toolCalls: 2 });
		streams.record(ENGINE, UNCHANGED);
		expect(streams.canPass(ENGINE, true)).toBe(true);
	});

	it("lets one stream a minute be read again, and the others pass meanwhile", () => {
		const { clock, streams } = table();
		streams.record(ENGINE, UNCHANGED);
		clock.now = MINUTE - 1;
		expect(streams.canPass(ENGINE, false)).toBe(true);
		clock.now = MINUTE;
		expect(streams.canPass(ENGINE, false)).toBe(false);
		expect(streams.canPass(ENGINE, false)).toBe(true);
		clock.now = 2 * MINUTE;
		expect(streams.canPass(ENGINE, false)).toBe(false);
		// The answer of the stream that was read.
		streams.record(ENGINE, UNCHANGED);
		expect(streams.canPass(ENGINE, false)).toBe(true);
	});

	it("is not changed by a call of `has`", () => {
		const { clock, streams } = table();
		streams.record(ENGINE, UNCHANGED);
		clock.now = MINUTE;
		expect([streams.has(ENGINE, false), streams.has(ENGINE, false)]).toEqual([true, true]);
		expect(streams.canPass(ENGINE, false)).toBe(false);
	});

	it("keeps at most 1,000 engines", () => {
		const { streams } = table();
		const engine = (i: number) => ({ ...ENGINE, engineModel: `model-${i}` });
		for (let i = 0; i < 1_000; i++) streams.record(engine(i), UNCHANGED);
		streams.record(engine(999), UNCHANGED);
		expect(streams.has(engine(0), false)).toBe(true);
		streams.record(engine(1_000), UNCHANGED);
		expect([streams.has(engine(0), false), streams.has(engine(1_000), false)]).toEqual([false, true]);
	});
});
