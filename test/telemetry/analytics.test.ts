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

it.each([
	["the limits exactly", { account: "a".repeat(96), model: "m".repeat(1_024) }, undefined],
	[
		"more than the limits",
		{ account: "a".repeat(97), model: "m".repeat(16 * 1_024) },
		{ account: "a".repeat(96), model: "m".repeat(1_024) },
	],
	// 3 bytes each, and 4 bytes each.
	[
		"characters of several bytes",
		{ account: `a${"€".repeat(40)}`, model: `mm${"😀".repeat(500)}` },
		{ account: `a${"€".repeat(31)}`, model: `mm${"😀".repeat(255)}` },
	],
])("has names within the limits of Analytics Engine: %s", (_, sent, written = sent) => {
	const point = dataPoint(settlement("ticket"), admission({ model: sent.model }), sent.account);
	expect([point.indexes, point.blobs?.[0]]).toEqual([[written.account], written.model]);
});
