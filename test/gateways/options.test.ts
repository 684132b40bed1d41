import { describe, expect, it } from "vitest";
import {
	mergedOptions,
	optionsInBinding,
	optionsInConfig,
	optionsInHeaders,
} from "../../src/gateways/options.ts";

const headers = (record: Record<string, string>) => optionsInHeaders(new Headers(record));

describe("the options of a request to a gateway", () => {
	it("reads every header", () => {
		expect(
			headers({
				"cf-aig-skip-cache": "true",
				"cf-aig-cache-ttl": "3600",
				"cf-aig-cache-key": "key",
				"cf-aig-collect-log": "false",
				"cf-aig-collect-log-payload": "true",
				"cf-aig-metadata": '{"team":"a","seats":3,"beta":true}',
				"cf-aig-event-id": "event-1",
				"cf-aig-request-timeout": "1500",
				"cf-aig-max-attempts": "5",
				"cf-aig-retry-delay": "250",
				"cf-aig-backoff": "exponential",
				"cf-aig-custom-cost": '{"per_token_in":0.001,"per_token_out":0.002}',
				"cf-aig-byok-alias": "production",
				"cf-aig-otel-trace-id": "4bf92f3577b34da6a3ce929d0e0e4736",
				"cf-aig-otel-parent-span-id": "00f067aa0ba902b7",
				"x-other": "1",
			}),
		).toEqual({
			skipCache: true,
			cacheTtl: 3_600,
			cacheKey: "key",
			collectLog: false,
			collectLogPayload: true,
			metadata: { team: "a", seats: 3, beta: true },
			eventId: "event-1",
			requestTimeout: 1_500,
			maxAttempts: 5,
			retryDelay: 250,
			backoff: "exponential",
			customCost: { per_token_in: 0.001, per_token_out: 0.002 },
			byokAlias: "production",
			otelTraceId: "4bf92f3577b34da6a3ce929d0e0e4736",
			otelParentSpanId: "00f067aa0ba902b7",
		});
	});

	it("reads each value of a header, also if it was read before", () => {
		const lifetimes = ["60", "forever", "61", "60", "forever"];
		expect(lifetimes.map((ttl) => headers({ "cf-aig-cache-ttl": ttl }).cacheTtl)).toEqual([
			60,
			undefined,
			61,
			60,
			undefined,
		]);
	});

	it("reads the caller's span of traceparent, unless another header names the trace", () => {
		const [trace, parent] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
		const traceparent = `00-${trace}-${parent}-01`;
		const span = { otelTraceId: trace, otelParentSpanId: parent };
		expect(headers({ traceparent })).toEqual(span);
		// A later version may have more fields.
		expect(headers({ traceparent: `cc-${trace}-${parent}-01-what-comes-later` })).toEqual(span);
		const other = "0af7651916cd43dd8448eb211c80319c";
		expect(headers({ traceparent, "cf-aig-otel-trace-id": other })).toEqual({ otelTraceId: other });
		expect(headers({ traceparent, "cf-aig-otel-parent-span-id": "b7ad6b7169203331" })).toEqual({
			otelTraceId: trace,
			otelParentSpanId: "b7ad6b7169203331",
		});
		for (const invalid of [
			`ff-${trace}-${parent}-01`,
			`00-${"0".repeat(32)}-${parent}-01`,
			`00-${trace}-${"0".repeat(16)}-01`,
			`00-${trace}-${parent}-01x`,
			`00-${trace}-${parent}-01-`,
			`00-${trace}-${parent}-01-what-comes-later`,
			`00-${trace.toUpperCase()}-${parent}-01`,
			trace,
		])
			expect(headers({ traceparent: invalid })).toEqual({});
	});

	it("reads the older names of two headers", () => {
		expect(headers({ "cf-cache-ttl": "60", "cf-skip-cache": "true" })).toEqual({
			cacheTtl: 60,
			skipCache: true,
		});
	});

	it.each([
		{ "cf-aig-skip-cache": "yes" },
		{ "cf-aig-cache-ttl": "-1" },
		{ "cf-aig-cache-ttl": "2678401" },
		{ "cf-aig-max-attempts": "6" },
		{ "cf-aig-max-attempts": "0" },
		{ "cf-aig-backoff": "random" },
		{ "cf-aig-metadata": "{" },
		{ "cf-aig-metadata": '{"team":null}' },
		{ "cf-aig-metadata": '{"team":{"id":1}}' },
		{ "cf-aig-metadata": "[1]" },
		{ "cf-aig-event-id": "two words" },
		{ "cf-aig-custom-cost": '{"per_token_in":-1}' },
		{ "cf-aig-otel-trace-id": "xyz" },
	])("ignores %j", (record) => expect(headers(record as unknown as Record<string, string>)).toEqual({}));

	it("keeps the first five entries of metadata, without those of the product", () => {
		const metadata = { "cf.user": 1, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 };
		expect(headers({ "cf-aig-metadata": JSON.stringify(metadata) }).metadata).toEqual({
			a: 1,
			b: 2,
			c: 3,
			d: 4,
			e: 5,
		});
	});

	it("reads the options of the binding, with the names of its types", () => {
		expect(
			optionsInBinding({
				id: "gw",
				cacheTtl: 120,
				skipCache: false,
				metadata: { team: "a" },
				requestTimeoutMs: 2_000,
				retries: { maxAttempts: 3, retryDelayMs: 10, backoff: "linear" },
			}),
		).toEqual({
			cacheTtl: 120,
			skipCache: false,
			metadata: { team: "a" },
			requestTimeout: 2_000,
			maxAttempts: 3,
			retryDelay: 10,
			backoff: "linear",
		});
	});

	it.each([undefined, null, "gw", [], 1])("has no options in %j", (gateway) => {
		expect(optionsInBinding(gateway)).toEqual({});
		expect(optionsInConfig(gateway)).toEqual({});
	});

	it("ignores values that cannot be compared", () => {
		const opaque = { length: { toString: 1 } };
		expect(optionsInBinding({ cacheKey: opaque, cacheTtl: { toString: 1 } })).toEqual({});
		expect(optionsInConfig({ requestTimeout: { valueOf: 1, toString: 1 } })).toEqual({});
	});

	it("reads the config of a universal step", () => {
		expect(
			optionsInConfig({ requestTimeout: 100, maxAttempts: 2, retryDelay: 5, backoff: "constant" }),
		).toEqual({
			requestTimeout: 100,
			maxAttempts: 2,
			retryDelay: 5,
			backoff: "constant",
		});
	});

	it("gives precedence to the first", () => {
		expect(
			mergedOptions({ cacheTtl: 60 }, { cacheTtl: 120, cacheKey: "key" }, { cacheKey: "other" }),
		).toEqual({
			cacheTtl: 60,
			cacheKey: "key",
		});
	});
});
