import { describe, expect, it } from "vitest";
import {
	openRequest,
	rateKeys,
	rateKeysText,
	requestRecord,
} from "../../../src/accounts/durable/request-rows.ts";

const OPEN = {
	id: 7,
	ticket: "t",
	admittedAt: 1_000,
	expiresAt: 601_000,
	model: "@cf/meta/llama-3.1-8b-instruct",
	task: "Text Generation",
	token: "laptop",
	rateKeys: "",
	reserved: 40,
};
describe("a row", () => {
	it("without rates has no rate keys", () => {
		expect(rateKeys("")).toEqual([]);
	});

	it("that is open becomes an open request", () => {
		expect(openRequest({ ...OPEN, rateKeys: "task:Text Generation\ntoken:laptop" })).toEqual({
			id: 7,
			ticket: "t",
			admittedAt: 1_000,
			expiresAt: 601_000,
			model: "@cf/meta/llama-3.1-8b-instruct",
			task: "Text Generation",
			token: "laptop",
			rateKeys: ["task:Text Generation", "token:laptop"],
			reserved: 40,
		});
	});

	it("is written with its rate keys in one text", () => {
		expect(rateKeysText(["task:Text Generation", "token:laptop"])).toBe("task:Text Generation\ntoken:laptop");
		expect(rateKeysText([])).toBe("");
	});

	it("that is open becomes a record without usage", () => {
		expect(requestRecord(OPEN)).toEqual({
			ticket: "t",
			outcome: "open",
			admittedAt: 1_000,
			model: "@cf/meta/llama-3.1-8b-instruct",
			task: "Text Generation",
			token: "laptop",
			reservedMicroNeurons: 40,
			microNeurons: 0,
			inputTokens: 0,
			cachedTokens: 0,
			outputTokens: 0,
			estimated: false,
			backend: "",
			attempts: 0,
		});
	});

	it("that is settled becomes a record of its usage and times", () => {
		const settled = {
			...OPEN,
			outcome: "failed" as const,
			settledAt: 2_000,
			microNeurons: 30,
			inputTokens: 3,
			cachedTokens: 2,
			outputTokens: 5,
			estimated: 1,
			backend: "engine",
			attempts: 2,
			latencyMs: 900,
			firstTokenMs: 90,
			code: 3040,
		};
		const record = {
			outcome: "failed" as const,
			settledAt: 2_000,
			microNeurons: 30,
			inputTokens: 3,
			cachedTokens: 2,
			outputTokens: 5,
			estimated: true,
			backend: "engine",
			attempts: 2,
			latencyMs: 900,
			firstTokenMs: 90,
			code: 3040,
		};
		expect(requestRecord(settled)).toMatchObject(record);
		expect(requestRecord({ ...settled, estimated: 0 }).estimated).toBe(false);
		// An expired request did not end, so it has no latency.
		expect(requestRecord({ ...settled, outcome: "expired" })).not.toHaveProperty("latencyMs");
	});
});
