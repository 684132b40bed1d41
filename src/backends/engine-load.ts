/**
 * The load that an engine reports: SGLang's `/v1/loads`, or `/get_load` of its earlier versions; the Prometheus metrics of vLLM, SGLang,
 * llama.cpp, TensorRT-LLM and TEI; llama.cpp's `/slots`. An engine has at most a few of these, and most only with a command-line option.
 */
import * as z from "zod";
import { parseJson } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import type { EngineLoad } from "../pools/replica.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { getText, type TextRequest } from "./transport/get-text.ts";

interface Source {
	/** Below the root of the server, which OpenAI's base address extends by `/v1`. */
	path: string;
	/** Returns nothing for a text of another format. */
	read(text: string): EngineLoad | undefined;
}

/** In the order in which they are tried: metrics tell more than the sources after them. */
const LOAD_SOURCES = ["loads", "metrics", "get_load", "slots"] as const;
type LoadSource = (typeof LOAD_SOURCES)[number];

const SOURCES: Record<LoadSource, Source> = {
	loads: { path: "/v1/loads", read: readLoads },
	metrics: { path: "/metrics", read: readMetrics },
	get_load: { path: "/get_load", read: readGetLoad },
	slots: { path: "/slots", read: readSlots },
};

interface LoadRequest extends Omit<TextRequest, "url"> {
	/** Base address of the engine. */
	url: string;
	/** The source that has worked before. Absent: all are tried. */
	source?: string | undefined;
}

/** Returns nothing if the engine has no source. Throws if it cannot be reached. */
export async function readEngineLoad({
	source: latest,
	...request
}: LoadRequest): Promise<{ source: LoadSource; load: EngineLoad } | undefined> {
	const root = request.url.replace(/\/v1$/, "");
	for (const source of LOAD_SOURCES) {
		if (latest !== undefined && source !== latest) continue;
		const { path, read } = SOURCES[source];
		const text = await getText({ ...request, url: root + path });
		const load = text === undefined ? undefined : read(text);
		if (load) return { source, load };
	}
	return undefined;
}

/** A larger value is no load, and the sum of some would not be finite. */
const MAX_VALUE = Number.MAX_SAFE_INTEGER;
const count = lazy(() => z.number().min(0).max(MAX_VALUE));
const Loads = lazy(() =>
	z.object({
		loads: z
			.array(
				z.object({
					num_running_reqs: count(),
					num_waiting_reqs: count(),
					num_waiting_uncached_tokens: count().optional(),
					max_total_num_tokens: count().optional(),
					token_usage: count().optional(),
				}),
			)
			.min(1),
	}),
);

/** One row for each rank of data parallelism. */
function readLoads(text: string): EngineLoad | undefined {
	const parsed = safeParse(Loads(), parseJson(text));
	if (!parsed.success) return undefined;
	const { loads } = parsed.data;
	const sum = (value: (row: (typeof loads)[number]) => number) =>
		loads.reduce((total, row) => total + value(row), 0);
	const hasTokens = loads.every((row) => row.num_waiting_uncached_tokens !== undefined);
	const cacheTokens = sum((row) => row.max_total_num_tokens ?? 0);
	return {
		running: sum((row) => row.num_running_reqs),
		waiting: sum((row) => row.num_waiting_reqs),
		...(hasTokens && { waitingTokens: sum((row) => row.num_waiting_uncached_tokens ?? 0) }),
		...(cacheTokens > 0 && { cacheTokens }),
		cacheUsage: Math.max(...loads.map((row) => row.token_usage ?? 0)),
	};
}

const RankLoad = lazy(() => z.object({ num_reqs: count(), num_waiting_reqs: count() }));
const GetLoad = lazy(() => z.union([z.array(RankLoad()).min(1), RankLoad()]));

/** One object, or one for each rank. `num_reqs` counts the waiting requests, too. */
function readGetLoad(text: string): EngineLoad | undefined {
	const parsed = safeParse(GetLoad(), parseJson(text));
	if (!parsed.success) return undefined;
	const ranks = [parsed.data].flat();
	const waiting = ranks.reduce((total, rank) => total + rank.num_waiting_reqs, 0);
	const all = ranks.reduce((total, rank) => total + rank.num_reqs, 0);
	return { running: Math.max(0, all - waiting), waiting };
}

const Slots = lazy(() => z.array(z.object({ is_processing: z.boolean() })).min(1));

/** Requests that wait are not in the list. */
function readSlots(text: string): EngineLoad | undefined {
	const parsed = safeParse(Slots(), parseJson(text));
	if (!parsed.success) return undefined;
	return { running: parsed.data.filter(({ is_processing }) => is_processing).length, waiting: 0 };
}

interface MetricNames {
	running?: string;
	waiting: string;
	/** 0 to 1, under its present and its earlier name. */
	usage: readonly string[];
	/** A metric whose labels have the size of a block and their number, or two metrics. */
	cache?: { metric: string; blockTokens: string; blocks: string } | { blockTokens: string; blocks: string };
}

const METRICS: readonly MetricNames[] = [
	{
		running: "vllm:num_requests_running",
		waiting: "vllm:num_requests_waiting",
		usage: ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
		cache: { metric: "vllm:cache_config_info", blockTokens: "block_size", blocks: "num_gpu_blocks" },
	},
	{
		running: "sglang:num_running_reqs",
		waiting: "sglang:num_queue_reqs",
		usage: ["sglang:token_usage"],
		cache: { metric: "sglang:cache_config_info", blockTokens: "page_size", blocks: "num_pages" },
	},
	{
		running: "llamacpp:requests_processing",
		waiting: "llamacpp:requests_deferred",
		usage: ["llamacpp:kv_cache_usage_ratio"],
	},
	{
		running: "trtllm_num_requests_running",
		waiting: "trtllm_num_requests_waiting",
		usage: ["trtllm_kv_cache_utilization"],
		cache: { blockTokens: "trtllm_kv_cache_tokens_per_block", blocks: "trtllm_kv_cache_max_blocks" },
	},
	{ waiting: "te_queue_size", usage: [] },
];

interface Sample {
	labels: string;
	value: number;
}

/** `name{label="value",…} 1.5`, without comments. A label's value may contain a brace. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;

/** Reads Prometheus's text format. Samples of several models or ranks are added. Values that are not numbers are ignored. */
function readMetrics(text: string): EngineLoad | undefined {
	const samples = new Map<string, Sample[]>();
	for (const line of text.split("\n")) {
		const [, name = "", labels = "", value] = SAMPLE.exec(line) ?? [];
		if (name !== "" && Math.abs(Number(value)) <= MAX_VALUE)
			samples.set(name, [...(samples.get(name) ?? []), { labels, value: Number(value) }]);
	}
	const names = METRICS.find(({ waiting }) => samples.has(waiting));
	if (!names) return undefined;
	const sum = (name: string): number =>
		(samples.get(name) ?? []).reduce((total, { value }) => total + Math.max(0, value), 0);
	const usage = names.usage.flatMap((name) => samples.get(name) ?? []);
	const cacheTokens = names.cache ? cacheTokensOf(names.cache, samples, sum) : 0;
	return {
		running: names.running === undefined ? 0 : sum(names.running),
		waiting: sum(names.waiting),
		...(usage.length > 0 && { cacheUsage: Math.max(...usage.map(({ value }) => value)) }),
		...(cacheTokens > 0 && { cacheTokens }),
	};
}

function cacheTokensOf(
	cache: NonNullable<MetricNames["cache"]>,
	samples: ReadonlyMap<string, readonly Sample[]>,
	sum: (name: string) => number,
): number {
	if (!("metric" in cache)) return sum(cache.blockTokens) * sum(cache.blocks);
	const { blockTokens, blocks, metric } = cache;
	return (samples.get(metric) ?? []).reduce((total, { labels }) => {
		const numberOf = (label: string) => Number(new RegExp(`(?:^|,)${label}="(\\d+)"`).exec(labels)?.[1] ?? 0);
		return total + numberOf(blockTokens) * numberOf(blocks);
	}, 0);
}
