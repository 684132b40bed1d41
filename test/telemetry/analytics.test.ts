import { expect, it } from "vitest";
import { dataPoint } from "../../src/telemetry/analytics.ts";
import { admission, settlement } from "../accounts/fixtures.ts";

it("puts each field of a request in its fixed place", () => {
	const request = admission({
		model: "@cf/a/b",
		task: "Text Generation",
		credential: { kind: "token", hash: "h" },
	});
	const ended = settlement("ticket", {
		outcome: "interrupted",
		microNeurons: 1_500_001,
		inputTokens: 10,
		cachedTokens: 4,
		outputTokens: 2,
		estimated: true,
		attempts: 2,
		latencyMs: 120,
		firstTokenMs: 30,
		code: 3007,
	});
	expect(dataPoint(ended, request, "local")).toEqual({
		indexes: ["local"],
		blobs: ["@cf/a/b", "Text Generation", "engine", "interrupted", "token", "estimated", "ticket"],
		doubles: [1.500001, 10, 4, 2, 120, 30, 2, 3007],
	});
});

it("has a number in every double, so that no place moves", () => {
	const { firstTokenMs: _, ...ended } = settlement("ticket", { outcome: "failed", backend: "" });
	expect(dataPoint(ended, admission(), "local").doubles).toEqual([0, 0, 0, 0, 10, 0, 1, 0]);
});
