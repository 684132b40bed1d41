import { describe, expect, it } from "vitest";
import { CounterSeries, HistogramSeries } from "../../src/core/series.ts";

describe("counters", () => {
	it("keep one sum for each set of labels, in the order of the first use", () => {
		const counters = new CounterSeries({ names: ["model", "kind"], max: 10 });
		counters.add(["gpt-5.6-sol", "input"], 3);
		counters.add(["claude-opus-5-5", "input"]);
		counters.add(["gpt-5.6-sol", "input"], 4);
		expect(counters.samples()).toEqual([
			[{ model: "gpt-5.6-sol", kind: "input" }, 7],
			[{ model: "claude-opus-5-5", kind: "input" }, 1],
		]);
	});

	it("add the values of further sets to one, so that invented names cannot fill the memory", () => {
		const counters = new CounterSeries({ names: ["model"], max: 2 });
		for (let i = 0; i < 1_000; i++) counters.add([`invented-${i}`]);
		expect(counters.samples()).toEqual([
			[{ model: "invented-0" }, 1],
			[{ model: "invented-1" }, 1],
			[{ model: "other" }, 998],
		]);
	});
});

describe("histograms", () => {
	it("have cumulative buckets, each with its upper bound, and the sum", () => {
		const histogram = new HistogramSeries({ names: ["task"], max: 10, bounds: [0.1, 1] });
		for (const seconds of [0.1, 0.5, 0.25, 7]) histogram.add(["chat"], seconds);
		expect(histogram.samples()).toEqual([
			[{ task: "chat", le: "0.1" }, 1, "_bucket"],
			[{ task: "chat", le: "1" }, 3, "_bucket"],
			[{ task: "chat", le: "+Inf" }, 4, "_bucket"],
			[{ task: "chat" }, 7.85, "_sum"],
			[{ task: "chat" }, 4, "_count"],
		]);
	});
});
