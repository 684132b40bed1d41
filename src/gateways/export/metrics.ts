/**
 * Metrics of requests in OTLP/JSON, with the names, units and buckets of the GenAI semantic conventions of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics). The points are deltas: each has the requests since the one before.
 */
import type { EndedRequest } from "../ended-request.ts";
import {
	attributesOf,
	errorTypeOf,
	modelOf,
	nanoseconds,
	operationOf,
	RESOURCE,
	SCOPE,
} from "./attributes.ts";

interface Metric {
	unit: string;
	description: string;
	/** Upper bounds of the buckets. */
	bounds: readonly number[];
}

const powers = (first: number, factor: number): number[] =>
	Array.from({ length: 14 }, (_, exponent) => first * factor ** exponent);

const METRICS = {
	"gen_ai.client.token.usage": {
		unit: "{token}",
		description: "Number of input and output tokens used",
		bounds: powers(1, 4),
	},
	"gen_ai.client.operation.duration": {
		unit: "s",
		description: "GenAI operation duration",
		bounds: powers(0.01, 2),
	},
	"gen_ai.server.time_to_first_token": {
		unit: "s",
		description: "Time to generate first token for successful responses",
		bounds: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
	},
} as const satisfies Record<string, Metric>;
type MetricName = keyof typeof METRICS;

interface Measurement {
	metric: MetricName;
	value: number;
	attributes: Record<string, string | undefined>;
}

interface Series {
	metric: MetricName;
	attributes: Measurement["attributes"];
	count: number;
	sum: number;
	min: number;
	max: number;
	buckets: number[];
}

/** Combinations of attributes. Values of others are dropped until the next point. */
const MAX_SERIES = 500;
const DELTA = 1;

/** The metrics of the requests since the last point. */
export class Histograms {
	#series = new Map<string, Series>();
	/** Epoch milliseconds. */
	#from: number | undefined;

	get isEmpty(): boolean {
		return this.#series.size === 0;
	}

	add(request: EndedRequest): void {
		const { exchange, end } = request;
		this.#from = Math.min(this.#from ?? Number.POSITIVE_INFINITY, exchange.startedAt + end.durationMs);
		for (const measurement of measurementsOf(request)) this.#record(measurement);
	}

	/** The body of a request to `/v1/metrics`. The next point begins empty. `now`: epoch milliseconds. */
	take(now: number): object {
		const series = [...this.#series.values()];
		const times = {
			startTimeUnixNano: nanoseconds(this.#from ?? now),
			timeUnixNano: nanoseconds(now),
		};
		this.#series = new Map();
		this.#from = undefined;
		const metrics = [...Map.groupBy(series, ({ metric }) => metric)].map(([name, points]) => {
			const { bounds, description, unit } = METRICS[name];
			const dataPoints = points.map((point) => ({ ...pointOf(point), ...times, explicitBounds: bounds }));
			return { name, unit, description, histogram: { aggregationTemporality: DELTA, dataPoints } };
		});
		return { resourceMetrics: [{ resource: RESOURCE, scopeMetrics: [{ scope: SCOPE, metrics }] }] };
	}

	#record({ metric, attributes, value }: Measurement): void {
		const key = JSON.stringify([metric, attributes]);
		const series = this.#series.get(key) ?? emptySeries(metric, attributes);
		if (!this.#series.has(key) && this.#series.size >= MAX_SERIES) return;
		this.#series.set(key, series);
		series.count++;
		series.sum += value;
		series.min = Math.min(series.min, value);
		series.max = Math.max(series.max, value);
		const bounds: readonly number[] = METRICS[metric].bounds;
		const bucket = bounds.findIndex((bound) => value <= bound);
		const index = bucket < 0 ? bounds.length : bucket;
		series.buckets[index] = (series.buckets[index] ?? 0) + 1;
	}
}

const emptySeries = (metric: MetricName, attributes: Measurement["attributes"]): Series => ({
	metric,
	attributes,
	count: 0,
	sum: 0,
	min: Number.POSITIVE_INFINITY,
	max: Number.NEGATIVE_INFINITY,
	buckets: Array.from({ length: METRICS[metric].bounds.length + 1 }, () => 0),
});

/** 64-bit integers are text in OTLP/JSON. */
const pointOf = ({ attributes, buckets, count, max, min, sum }: Series): object => ({
	attributes: attributesOf(attributes),
	count: String(count),
	sum,
	min,
	max,
	bucketCounts: buckets.map(String),
});

function measurementsOf(request: EndedRequest): Measurement[] {
	const { end, exchange } = request;
	const { usage, firstByteMs } = end;
	const attributes = {
		"gen_ai.operation.name": operationOf(request),
		"gen_ai.provider.name": end.provider ?? "",
		"gen_ai.request.model": modelOf(request),
		"cf.aig.gateway": exchange.gateway,
	};
	const errorType = errorTypeOf(request);
	const tokens = (type: "input" | "output", value: number): Measurement => ({
		metric: "gen_ai.client.token.usage",
		value,
		attributes: { ...attributes, "gen_ai.token.type": type },
	});
	return [
		{
			metric: "gen_ai.client.operation.duration",
			value: end.durationMs / 1_000,
			attributes: { ...attributes, "error.type": errorType },
		},
		// A cached answer used no tokens.
		...(usage && !end.cached
			? [tokens("input", usage.inputTokens), tokens("output", usage.outputTokens)]
			: []),
		...(firstByteMs !== undefined && errorType === undefined
			? [{ metric: "gen_ai.server.time_to_first_token" as const, value: firstByteMs / 1_000, attributes }]
			: []),
	];
}
