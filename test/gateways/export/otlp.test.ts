import { describe, expect, it } from "vitest";
import type { EndedRequest } from "../../../src/gateways/ended-request.ts";
import { otlpTraces } from "../../../src/gateways/export/otlp.ts";

interface Traces {
	resourceSpans: {
		scopeSpans: {
			spans: { name: string; status: object; attributes: { key: string; value: object }[] }[];
		}[];
	}[];
}

/** The span of a request with this end, and the attributes of the GenAI conventions. */
function spanOf(end: Partial<EndedRequest["end"]>, request: Partial<EndedRequest> = {}) {
	const traces = otlpTraces({
		exchange: { id: "0199a0de-6b7a-7c3e-9f0b-2f4b6c8d0e1f", gateway: "main", startedAt: 1_000 },
		end: { durationMs: 2_000, status: 200, provider: "workers-ai", model: "m", ...end },
		settings: {},
		options: {},
		responseType: "application/json",
		failed: false,
		...request,
	} as EndedRequest) as Traces;
	const span = traces.resourceSpans[0]?.scopeSpans[0]?.spans[0];
	return {
		...span,
		values: Object.fromEntries(span?.attributes.map(({ key, value }) => [key, value]) ?? []),
	};
}

describe("the span of a request", () => {
	it.each([
		["Text Generation", "chat"],
		[undefined, "chat"],
		["Text Embeddings", "embeddings"],
		["Text-to-Image", "text_to_image"],
	])("of the task %s is named %s", (modelType, operation) => {
		const { name, values } = spanOf({ modelType });
		expect(name).toBe(`${operation} m`);
		expect(values).toMatchObject({
			"gen_ai.operation.name": { stringValue: operation },
			"gen_ai.provider.name": { stringValue: "workers-ai" },
		});
	});

	it("has the parts of the input that a cache had, if the provider counts them", () => {
		const usage = { inputTokens: 100, cachedTokens: 60, cacheWriteTokens: 20, outputTokens: 5 };
		expect(spanOf({ usage }).values).toMatchObject({
			"gen_ai.usage.input_tokens": { intValue: "100" },
			"gen_ai.usage.cache_read.input_tokens": { intValue: "60" },
			"gen_ai.usage.cache_creation.input_tokens": { intValue: "20" },
		});
		const { values } = spanOf({ usage: { inputTokens: 100, cachedTokens: 0, outputTokens: 5 } });
		expect(Object.keys(values).filter((key) => key.includes("cache_"))).toEqual([]);
	});

	it("has the time to the first chunk of a stream, in seconds", () => {
		const name = "gen_ai.response.time_to_first_chunk";
		const stream = { responseType: "text/event-stream; charset=utf-8" };
		expect(spanOf({ firstByteMs: 250 }, stream).values[name]).toEqual({ doubleValue: 0.25 });
		expect(spanOf({ firstByteMs: 2_000 }, stream).values[name]).toEqual({ doubleValue: 2 });
		expect(spanOf({ firstByteMs: 250 }).values[name]).toBeUndefined();
	});

	it.each([
		[{ status: 429 }, {}, "429"],
		[{ status: undefined }, {}, "500"],
		[{ status: 200 }, { failed: true }, "interrupted"],
	])("of a failure %j %j has the type %s", (end, request, type) => {
		const { status, values } = spanOf(end as object, request);
		expect(values["error.type"]).toEqual({ stringValue: type });
		expect(status).toEqual({ code: 2 });
		expect(spanOf({}).values["error.type"]).toBeUndefined();
	});
});
