import { describe, expect, it } from "vitest";
import {
	openRequest,
	type Row,
	rateKeys,
	requestRecord,
} from "../../../src/accounts/durable/request-rows.ts";

const OPEN = {
	id: 7,
	ticket: "t",
	admitted_at: 1_000,
	expires_at: 601_000,
	model: "@cf/meta/llama-3.1-8b-instruct",
	task: "Text Generation",
	token: "laptop",
	rate_keys: "",
	reserved: 40,
};
const UNSETTLED: Row = {
	...OPEN,
	outcome: null,
	settled_at: null,
	micro_neurons: null,
	input_tokens: null,
	cached_tokens: null,
	output_tokens: null,
	estimated: null,
	backend: null,
	attempts: null,
	latency_ms: null,
	first_token_ms: null,
	code: null,
};

describe("a row", () => {
	it("without rates has no rate keys", () => {
		expect(rateKeys(OPEN)).toEqual([]);
	});

	it("that is open becomes an open request", () => {
		expect(openRequest({ ...OPEN, rate_keys: "task:Text Generation\ntoken:laptop" })).toEqual({
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

	it("that is open becomes a record without usage", () => {
		expect(requestRecord(UNSETTLED)).toEqual({
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
		const settled: Row = {
			...UNSETTLED,
			outcome: "failed",
			settled_at: 2_000,
			micro_neurons: 30,
			input_tokens: 3,
			cached_tokens: 2,
			output_tokens: 5,
			estimated: 1,
			backend: "engine",
			attempts: 2,
			latency_ms: 900,
			first_token_ms: 90,
			code: 3040,
		};
		const record = {
			outcome: "failed",
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
