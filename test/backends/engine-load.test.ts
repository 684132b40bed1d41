import { expect, it } from "vitest";
import { readEngineLoad } from "../../src/backends/engine-load.ts";

/** An engine with some paths; all others answer 404. */
const reader = (paths: Record<string, string>, source?: string) => {
	const requested: string[] = [];
	const load = readEngineLoad({
		url: "http://gpu:8000/v1",
		key: "secret",
		headers: { "x-team": "a" },
		source,
		fetch: async (input, init) => {
			const { headers, url } = new Request(input, init);
			requested.push(`${new URL(url).pathname} ${headers.get("authorization")} ${headers.get("x-team")}`);
			const text = paths[new URL(url).pathname];
			return new Response(text ?? "Not found", { status: text === undefined ? 404 : 200 });
		},
	});
	return { load, requested };
};

const VLLM = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a {strange} name"} 3.0
vllm:num_requests_running{engine="1",model_name="a {strange} name"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27000",num_gpu_blocks_override="None"} 1.0
`;
const SGLANG = `sglang:num_running_reqs{model_name="m"} 5.0
sglang:num_queue_reqs{model_name="m"} 2.0
sglang:token_usage{model_name="m"} 0.4
sglang:cache_config_info{page_size="64",num_pages="1000"} 1
`;
const LOADS = JSON.stringify({
	version: "0.5",
	loads: [
		{
			dp_rank: 0,
			num_running_reqs: 4,
			num_waiting_reqs: 1,
			num_waiting_uncached_tokens: 900,
			max_total_num_tokens: 50_000,
			token_usage: 0.3,
			utilization: 0,
		},
		{
			dp_rank: 1,
			num_running_reqs: 2,
			num_waiting_reqs: 2,
			num_waiting_uncached_tokens: 100,
			max_total_num_tokens: 50_000,
			token_usage: 0.7,
			utilization: 0,
		},
	],
});

it.each([
	["vLLM", { "/metrics": VLLM }, { running: 5, waiting: 4, cacheUsage: 0.5, cacheTokens: 432_000 }],
	[
		"SGLang's metrics",
		{ "/metrics": SGLANG },
		{ running: 5, waiting: 2, cacheUsage: 0.4, cacheTokens: 64_000 },
	],
	[
		"SGLang's loads, which have tokens",
		{ "/metrics": SGLANG, "/v1/loads": LOADS },
		{ running: 6, waiting: 3, waitingTokens: 1_000, cacheUsage: 0.7, cacheTokens: 100_000 },
	],
	[
		"metrics, if the loads cannot be compared",
		{ "/metrics": SGLANG, "/v1/loads": '{"loads":{"length":{"toString":1}}}' },
		{ running: 5, waiting: 2, cacheUsage: 0.4, cacheTokens: 64_000 },
	],
	[
		"SGLang's loads with requests alone",
		{ "/v1/loads": JSON.stringify({ loads: [{ num_running_reqs: 4, num_waiting_reqs: 1 }] }) },
		{ running: 4, waiting: 1, cacheUsage: 0 },
	],
	[
		"SGLang's loads of which some have tokens",
		{
			"/v1/loads": JSON.stringify({
				loads: [
					{ num_running_reqs: 4, num_waiting_reqs: 1, num_waiting_uncached_tokens: 900, token_usage: 0.2 },
					{ num_running_reqs: 1, num_waiting_reqs: 1, max_total_num_tokens: 50_000 },
				],
			}),
		},
		{ running: 5, waiting: 2, cacheUsage: 0.2, cacheTokens: 50_000 },
	],
	[
		"an earlier SGLang, of one rank",
		{ "/get_load": JSON.stringify({ num_reqs: 7, num_waiting_reqs: 3 }) },
		{ running: 4, waiting: 3 },
	],
	[
		"an earlier SGLang, of several ranks",
		{
			"/get_load": JSON.stringify([
				{ dp_rank: 0, num_reqs: 5, num_waiting_reqs: 1, num_tokens: 900 },
				{ dp_rank: 1, num_reqs: 2, num_waiting_reqs: 2, num_tokens: 40 },
			]),
		},
		{ running: 4, waiting: 3 },
	],
	[
		"SGLang's metrics rather than its earlier load",
		{ "/metrics": SGLANG, "/get_load": JSON.stringify({ num_reqs: 7, num_waiting_reqs: 3 }) },
		{ running: 5, waiting: 2, cacheUsage: 0.4, cacheTokens: 64_000 },
	],
	[
		"llama.cpp's metrics, with a rate that is not a number",
		{
			"/metrics":
				"llamacpp:prompt_tokens_seconds nan\nllamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n",
		},
		{ running: 2, waiting: 1 },
	],
	[
		"llama.cpp's slots",
		{
			"/slots": JSON.stringify([
				{ id: 0, is_processing: true },
				{ id: 1, is_processing: false },
			]),
		},
		{ running: 1, waiting: 0 },
	],
	[
		"TensorRT-LLM",
		{
			"/metrics":
				'trtllm_num_requests_running{m="a"} 7\ntrtllm_num_requests_waiting{m="a"} 0\ntrtllm_kv_cache_utilization{m="a"} 0.1\ntrtllm_kv_cache_tokens_per_block{m="a"} 32\ntrtllm_kv_cache_max_blocks{m="a"} 100\n',
		},
		{ running: 7, waiting: 0, cacheUsage: 0.1, cacheTokens: 3_200 },
	],
	["TEI", { "/metrics": "# TYPE te_queue_size gauge\nte_queue_size 12\n" }, { running: 0, waiting: 12 }],
])("reads the load of %s", async (_, paths: Record<string, string>, load) => {
	expect((await reader(paths).load)?.load).toEqual(load);
});

it("tries each source below the root, with the backend's credentials, until one is known", async () => {
	const first = reader({ "/slots": "[]", "/metrics": "process_cpu_seconds_total 1\n" });
	expect(await first.load).toBeUndefined();
	const credentials = "Bearer secret a";
	expect(first.requested).toEqual(
		["/v1/loads", "/metrics", "/get_load", "/slots"].map((path) => `${path} ${credentials}`),
	);
	const later = reader({ "/metrics": SGLANG, "/v1/loads": LOADS }, "metrics");
	expect(await later.load).toMatchObject({ source: "metrics", load: { running: 5 } });
	expect(later.requested).toEqual([`/metrics ${credentials}`]);
});

it.each([
	["/v1/loads", JSON.stringify({ loads: [{ num_running_reqs: 1e308, num_waiting_reqs: 1e308 }] })],
	["/metrics", "vllm:num_requests_running 1e308\nvllm:num_requests_waiting 1e308\n"],
	["/get_load", JSON.stringify([{ num_reqs: 1e308, num_waiting_reqs: 1e308 }])],
])("ignores numbers of %s whose sum would not be finite", async (path, text) => {
	expect(await reader({ [path]: text }).load).toBeUndefined();
});

it("ignores a text that is too long", async () => {
	expect(await reader({ "/metrics": `${VLLM}${"#".repeat(1024 * 1024)}` }).load).toBeUndefined();
});
