/** Export of requests to a collector of OpenTelemetry. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FairLine } from "../../../src/core/fair-line.ts";
import { Gateways } from "../../../src/gateways/client/gateways.ts";
import { OtelExporter } from "../../../src/gateways/client/otel-exporter.ts";
import { DEFAULT_SETTINGS } from "../../../src/gateways/settings.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { newAccount } from "../../accounts/fixtures.ts";
import { CALLER, completion, ENGINE_VARS, testServices, upstream } from "../../gateway.ts";
import { droppedOf } from "../../gateways/client/dropped.ts";
import { json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const COLLECTOR = "https://collector.example/v1/traces";
const NOW = Date.parse("2026-11-21T12:00:00Z");
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

interface Traces {
	resourceSpans: {
		resource: object;
		scopeSpans: { spans: Record<string, unknown>[] }[];
	}[];
}

async function gateway(collect: (request: Request) => Response | Promise<Response>, url = COLLECTOR) {
	const account = newAccount();
	const target = { url, authorization: "Bearer secret", headers: { "x-team": "red" } };
	await env.GATEWAYS.getByName(account).create("main", { ...DEFAULT_SETTINGS, otel: [target] });
	const collector = upstream(collect);
	const engine = upstream(() => Response.json(completion("Hello")));
	const background: Promise<unknown>[] = [];
	const failures: unknown[] = [];
	const otelExporter = new OtelExporter({
		exportLine: new FairLine({ name: "exports", max: 10, now: () => 0 }),
		now: () => NOW,
		wait: async () => {},
		waitUntil: (work) => void background.push(work),
		failed: (cause) => failures.push(cause),
	});
	const app = wireOf({
		...testServices({
			vars: ENGINE_VARS,
			fetch: (input, init) =>
				(new URL(String(input)).hostname === "engine" ? engine : collector).fetch(input, init),
		}),
		gateways: new Gateways({ registry: (name) => env.GATEWAYS.getByName(name), now: () => NOW }),
		uuid: () => crypto.randomUUID(),
		otelExporter,
	});
	return {
		collector,
		failures,
		otelExporter,
		run: async (headers: object = {}, provider = "workers-ai") => {
			const step = { provider, endpoint: LLAMA, headers, query: { prompt: "Hi" } };
			const request = new Request(
				"https://workers-binding.ai/ai-gateway/universal/run/main",
				json("POST", [step]),
			);
			const response = await app.fetch(request, { caller: { ...CALLER, account } });
			const text = await response.text();
			for (let done = -1; done < background.length; ) {
				done = background.length;
				await Promise.all(background);
			}
			return { response, text };
		},
	};
}

describe("the export of a request", () => {
	it("is a span in OTLP/JSON with the attributes of AI Gateway", async () => {
		const { run, collector } = await gateway(() => Response.json({ partialSuccess: {} }));
		const { response, text } = await run({
			"cf-aig-otel-trace-id": TRACE.toUpperCase(),
			"cf-aig-otel-parent-span-id": SPAN,
			"cf-aig-metadata": { user: "u1", n: 7, rate: 0.5, paid: true, "gen_ai.request.model": "other" },
			"cf-aig-custom-cost": '{"total_cost":2}',
		});
		const id = response.headers.get("cf-aig-log-id") ?? "";
		const [request] = collector.requests;
		expect(request?.url).toBe(COLLECTOR);
		expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
			authorization: "Bearer secret",
			"x-team": "red",
			"content-type": "application/json",
		});
		const traces = (await request?.json()) as Traces;
		expect(traces.resourceSpans[0]?.resource).toEqual({
			attributes: [{ key: "service.name", value: { stringValue: "ganglion" } }],
		});
		const [span] = traces.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
		const { attributes, ...fields } = span ?? {};
		expect(fields).toEqual({
			traceId: TRACE,
			spanId: id.replaceAll("-", "").slice(16),
			parentSpanId: SPAN,
			name: `chat ${LLAMA}`,
			kind: 3,
			startTimeUnixNano: "1795262400000000000",
			endTimeUnixNano: "1795262400000000000",
			status: { code: 1 },
		});
		const values = Object.fromEntries(
			(attributes as { key: string; value: unknown }[]).map(({ key, value }) => [key, value]),
		);
		expect(values).toEqual({
			user: { stringValue: "u1" },
			n: { intValue: "7" },
			rate: { doubleValue: 0.5 },
			paid: { boolValue: true },
			"gen_ai.operation.name": { stringValue: "chat" },
			"gen_ai.request.model": { stringValue: LLAMA },
			"gen_ai.provider.name": { stringValue: "workers-ai" },
			"gen_ai.model.provider": { stringValue: "workers-ai" },
			"gen_ai.usage.input_tokens": { intValue: "3" },
			"gen_ai.usage.output_tokens": { intValue: "2" },
			"gen_ai.usage.cost": { doubleValue: 2 },
			"gen_ai.prompt_json": { stringValue: '{"prompt":"Hi"}' },
			"gen_ai.completion_json": { stringValue: text },
			"http.response.status_code": { intValue: "200" },
			"cf.aig.gateway": { stringValue: "main" },
			"cf.aig.log_id": { stringValue: id },
			"cf.aig.cached": { boolValue: false },
		});
	});

	it("of a refused request has the status of an error, and ids of its own", async () => {
		const { run, collector } = await gateway(() => new Response());
		const { response } = await run({}, "nothing");
		const id = (response.headers.get("cf-aig-log-id") ?? "").replaceAll("-", "");
		const traces = (await collector.requests[0]?.json()) as Traces;
		const [span] = traces.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
		expect(span).toMatchObject({ traceId: id, spanId: id.slice(16), status: { code: 2 } });
		expect(span).not.toHaveProperty("parentSpanId");
	});

	it("has no contents if the request excludes them", async () => {
		const { run, collector } = await gateway(() => new Response());
		await run({ "cf-aig-collect-log-payload": "false" });
		expect(await collector.requests[0]?.text()).not.toContain("_json");
	});

	it.each<[string, () => Response]>([
		["refuses", () => new Response("no", { status: 500 })],
		["redirects", () => new Response(null, { status: 302, headers: { location: "https://other.example" } })],
		[
			"cannot be reached",
			() => {
				throw new TypeError("network");
			},
		],
	])("does not affect a request if the collector %s", async (_, collect) => {
		const { run, failures, otelExporter } = await gateway(collect);
		const { response } = await run();
		expect(response.status).toBe(200);
		// The span and the metrics.
		expect(failures).toHaveLength(2);
		expect(droppedOf(otelExporter)).toBe(2);
	});

	it("does not reach a private address that was stored when the rules allowed it", async () => {
		const { run, collector, otelExporter } = await gateway(() => new Response(), "http://10.0.0.1/v1/traces");
		expect((await run()).response.status).toBe(200);
		expect(collector.requests).toEqual([]);
		expect(droppedOf(otelExporter)).toBe(1);
	});
});

describe("the metrics of requests", () => {
	interface Metrics {
		resourceMetrics: {
			scopeMetrics: {
				metrics: {
					name: string;
					unit: string;
					histogram: {
						aggregationTemporality: number;
						dataPoints: { attributes: { key: string; value: object }[]; bucketCounts: string[] }[];
					};
				}[];
			}[];
		}[];
	}
	const labels = ({ attributes }: { attributes: { key: string; value: object }[] }) =>
		Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

	it("are histograms with the names of the GenAI conventions, at the address beside the traces", async () => {
		const { run, collector } = await gateway(() => new Response());
		await run();
		const request = collector.requests.find(({ url }) => url === "https://collector.example/v1/metrics");
		expect(request?.headers.get("authorization")).toBe("Bearer secret");
		const body = (await request?.json()) as Metrics | undefined;
		const metrics = body?.resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
		expect(metrics.map(({ name, unit }) => [name, unit])).toEqual([
			["gen_ai.client.operation.duration", "s"],
			["gen_ai.client.token.usage", "{token}"],
			["gen_ai.server.time_to_first_token", "s"],
		]);
		const [, tokens] = metrics;
		expect(tokens?.histogram.aggregationTemporality).toBe(1);
		const [input, output] = tokens?.histogram.dataPoints ?? [];
		const common = {
			"gen_ai.operation.name": "chat",
			"gen_ai.provider.name": "workers-ai",
			"gen_ai.request.model": LLAMA,
			"cf.aig.gateway": "main",
		};
		expect(input && labels(input)).toEqual({ ...common, "gen_ai.token.type": "input" });
		expect(output && labels(output)).toEqual({ ...common, "gen_ai.token.type": "output" });
		// 3 and 2 tokens are in the bucket above 1, up to 4.
		const counted = { count: "1", bucketCounts: expect.arrayContaining(["1"]) };
		expect(input).toMatchObject({ ...counted, sum: 3, min: 3, max: 3, timeUnixNano: "1795262400000000000" });
		expect(output).toMatchObject({ ...counted, sum: 2 });
		expect(input?.bucketCounts).toEqual(["0", "1", ...Array(13).fill("0")]);
	});

	it("of a refused request have the type of its error, and no tokens", async () => {
		const { run, collector } = await gateway(() => new Response());
		await run({}, "nothing");
		const body = await collector.requests.find(({ url }) => url.endsWith("/metrics"))?.json();
		const metrics = (body as Metrics).resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
		expect(metrics.map(({ name }) => name)).toEqual(["gen_ai.client.operation.duration"]);
		const [point] = metrics[0]?.histogram.dataPoints ?? [];
		expect(point && labels(point)).toMatchObject({ "error.type": "400" });
	});

	it("are not sent to a collector whose address is not that of traces", async () => {
		const { run, collector } = await gateway(() => new Response(), "https://collector.example/otlp");
		await run();
		expect(collector.requests.map(({ url }) => url)).toEqual(["https://collector.example/otlp"]);
	});
});
