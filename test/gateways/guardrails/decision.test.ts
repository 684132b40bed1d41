import { describe, expect, it } from "vitest";
import { decide } from "../../../src/gateways/guardrails/decision.ts";
import { chunksOf } from "../../../src/tasks/moderation/chunks.ts";

const unsafe = (...categories: string[]) => ({ safe: false, categories });
const SAFE = { safe: true, categories: [] };

describe("decide", () => {
	it.each([
		["a safe text", { S1: "BLOCK" }, [SAFE], undefined, []],
		["no judgement", { S1: "BLOCK" }, [], undefined, []],
		["a hazard without a rule", { S1: "BLOCK" }, [unsafe("S2")], undefined, []],
		["a flagged hazard", { S1: "FLAG", S2: "BLOCK" }, [unsafe("S1")], "FLAG", ["S1"]],
		["a blocked hazard", { S1: "FLAG", S2: "BLOCK" }, [unsafe("S2")], "BLOCK", ["S2"]],
		[
			"hazards of several parts",
			{ S1: "FLAG", S2: "BLOCK" },
			[unsafe("S1"), SAFE, unsafe("S2")],
			"BLOCK",
			["S1", "S2"],
		],
		["S1 and S10, which are different", { S1: "BLOCK", S10: "FLAG" }, [unsafe("S10")], "FLAG", ["S10"]],
		["an unsafe text without a hazard", { S1: "FLAG", S2: "BLOCK" }, [unsafe()], "BLOCK", ["S1", "S2"]],
	] as const)("%s", (_, rules, judgements, action, categories) => {
		expect(decide("prompt", rules, judgements)).toEqual({
			phase: "prompt",
			categories,
			...(action && { action }),
		});
	});
});

describe("chunksOf", () => {
	it("covers the text with parts that overlap", () => {
		expect(chunksOf("")).toEqual([]);
		expect(chunksOf("short")).toEqual(["short"]);
		expect(chunksOf("x".repeat(8_000)).map(({ length }) => length)).toEqual([8_000]);
		expect(chunksOf("x".repeat(8_001)).map(({ length }) => length)).toEqual([8_000, 201]);
		const text = Array.from({ length: 30_000 }, (_, index) => String.fromCharCode(33 + (index % 90))).join(
			"",
		);
		const [first = "", ...others] = chunksOf(text);
		expect(first + others.map((chunk) => chunk.slice(200)).join("")).toBe(text);
	});
});
