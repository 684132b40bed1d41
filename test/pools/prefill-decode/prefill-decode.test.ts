import { describe, expect, it } from "vitest";
import type { DisaggregationName } from "../../../src/pools/prefill-decode/settings.ts";
import { NOW } from "../../gateway.ts";
import {
	CACHED_TOKENS,
	type Cluster,
	type ClusterOptions,
	FAULTS,
	type Fault,
	PROMPT_TOKENS,
	TOKENS,
} from "./cluster.ts";
import { ALL_IDLE, gatewayOf, LONG, MODEL, readStream } from "./pair-gateway.ts";

const PROTOCOLS = ["nixl", "sglang", "tensorrt-llm"] as const satisfies DisaggregationName[];
const TEXT = TOKENS.join("");
const USAGE = {
	prompt_tokens: PROMPT_TOKENS,
	completion_tokens: TOKENS.length,
	total_tokens: PROMPT_TOKENS + TOKENS.length,
	prompt_tokens_details: { cached_tokens: CACHED_TOKENS },
};

/** The stages of all calls in order. */
const stagesOf = ({ hosts }: Cluster): string => hosts.map((host) => host.slice(0, 1)).join(" ");

const FOREIGN_FIELDS = {
	kv_transfer_params: { do_remote_prefill: true, remote_host: "169.254.169.254", remote_port: 80 },
	bootstrap_host: "169.254.169.254",
	bootstrap_port: 80,
	bootstrap_room: 1,
	disaggregated_params: { request_type: "generation_only", ctx_request_id: 1, host: "169.254.169.254" },
	disagg_prefill_resp: { host: "169.254.169.254" },
	nvext: { host: "169.254.169.254" },
};
const FOREIGN_HEADERS = {
	"x-prefiller-host-port": "169.254.169.254:80",
	"x-encoder-hosts-ports": "169.254.169.254:80",
	"x-data-parallel-host-port": "169.254.169.254:80",
	"x-gateway-destination-endpoint": "169.254.169.254:80",
	"x-smg-target-worker": "http://169.254.169.254",
	"x-request-id": "___prefill_addr_169.254.169.254:80___decode_addr_169.254.169.254:81_1",
};

interface Survival {
	/** The stages of all calls, by fault. */
	calls: Record<string, string>;
	/** The stage whose health has a failure, if it is not the one of the fault. */
	blamed: Record<string, string>;
}
const AGAIN = { calls: { other: "p d p d" }, blamed: {} };
const SURVIVED: Record<"inTurn" | "together", Record<"prefill" | "decode", Survival>> = {
	inTurn: {
		// The decode engine cannot load what a lost prefill engine had, and reports that as its own failure.
		prefill: { calls: { lost: "p d p d", other: "p d" }, blamed: { lost: "d" } },
		decode: AGAIN,
	},
	together: {
		// The answer has started without the prefill engine. Otherwise another one takes its place.
		prefill: { calls: { lost: "p d", other: "p d p d" }, blamed: {} },
		decode: AGAIN,
	},
};

describe.each(PROTOCOLS)("a pair of %s", (protocol) => {
	it("answers, with the true counts, and is billed once", async () => {
		const { chat, cluster, settled, stages } = gatewayOf({ protocol });
		const reply = await (await chat()).json<{ choices: { message: object }[]; usage: object }>();
		expect(reply.choices[0]?.message).toMatchObject({ content: TEXT });
		expect(reply.usage).toMatchObject(USAGE);
		expect(stagesOf(cluster)).toBe("p d");
		expect(cluster.violations).toEqual([]);
		expect(settled).toMatchObject([
			{
				outcome: "ok",
				inputTokens: PROMPT_TOKENS,
				cachedTokens: CACHED_TOKENS,
				outputTokens: TOKENS.length,
				attempts: 1,
			},
		]);
		expect(stages()).toMatchObject(ALL_IDLE);
	});

	it("streams, and rewrites the usage in the stream", async () => {
		const { chat, cluster, settled, stages } = gatewayOf({ protocol, route: { passthrough: true } });
		const body = { stream: true, stream_options: { include_usage: true } };
		const { text, usage, done, error } = readStream(await (await chat(body)).text());
		expect({ text, done, error }).toEqual({ text: TEXT, done: true, error: undefined });
		expect(usage).toMatchObject(USAGE);
		expect(cluster.violations).toEqual([]);
		expect(cluster.handles.map(({ end }) => end)).toEqual(protocol === "sglang" ? [] : ["used"]);
		expect(settled).toMatchObject([{ outcome: "ok", cachedTokens: CACHED_TOKENS }]);
		expect(stages()).toMatchObject(ALL_IDLE);
	});

	it.each([
		["a stream", "/v1/chat/completions", { messages: [{ role: "user", content: LONG }], stream: true }],
		["a raw prompt", `/run/${MODEL}`, { prompt: LONG, raw: true }],
	])("drops the fields and headers of a caller that name a host: %s", async (_, path, body) => {
		const { cluster, post } = gatewayOf({ protocol });
		const sent = { model: MODEL, ...body, ...FOREIGN_FIELDS };
		expect((await post(path, sent, { headers: FOREIGN_HEADERS })).status).toBe(200);
		expect(stagesOf(cluster)).toBe("p d");
		expect(cluster.violations).toEqual([]);
		for (const { headers, text } of cluster.calls) {
			expect(text).not.toContain("169.254");
			expect([...headers.values()].join()).not.toContain("169.254");
		}
	});

	it.each([
		...FAULTS.prefill.map((fault) => ["prefill", fault] as const),
		...FAULTS.decode.map((fault) => ["decode", fault] as const),
	])("survives a failure of one replica: %s %s", async (stage, fault) => {
		const gateway = gatewayOf({ protocol, fault: once(stage, fault), wait: async () => {} });
		const { chat, cluster, services, settled, stages } = gateway;
		const sent = { stream: true, stream_options: { include_usage: true } };
		const { text, usage, done, error } = readStream(await (await chat(sent)).text());
		expect({ text, done, error }).toEqual({ text: TEXT, done: true, error: undefined });
		const { calls, blamed } = SURVIVED[protocol === "sglang" ? "together" : "inTurn"][stage];
		expect(stagesOf(cluster)).toBe(calls[fault] ?? calls.other);
		// The health of each engine shows its own failures only.
		const failures = services.health.engines?.().filter((engine) => engine.failures > 0);
		expect(failures?.map(({ replica, failures: count }) => [replica.slice(0, 1), count])).toEqual([
			[blamed[fault] ?? stage.slice(0, 1), 1],
		]);
		// A decode replica that processes the prompt itself has nothing of it in its cache. A lost count is unknown.
		const isAlone = stage === "prefill" && fault !== "lost" && protocol !== "sglang";
		const isUnknown = fault === "lost" && protocol === "sglang";
		const details = { cached_tokens: isAlone ? 0 : CACHED_TOKENS };
		expect(usage).toMatchObject({ ...USAGE, prompt_tokens_details: isUnknown ? null : details });
		expect(settled).toMatchObject([
			{
				outcome: "ok",
				inputTokens: PROMPT_TOKENS,
				cachedTokens: isUnknown ? 0 : details.cached_tokens,
				outputTokens: TOKENS.length,
			},
		]);
		expect(cluster.violations).toEqual([]);
		expect(stages()).toMatchObject(ALL_IDLE);
		expect(cluster.open).toBe(0);
		// The decode replica of a failed pair is counted as a fallback. Otherwise a second pair was called.
		const isRepeated = stage === "decode" || protocol === "sglang";
		if (fault !== "lost" && fault !== "cut")
			expect(gateway.pairs()).toMatchObject({
				choices: { pair: isRepeated ? 2 : 1, noPrefill: 0 },
				fallbacks: { prefillFailed: isRepeated ? 0 : 1, noHandle: 0 },
			});
	});
});

describe("the prompt", () => {
	it("is processed by a decode replica if it is short, unless that refuses", async () => {
		const messages = [{ role: "user", content: "Hi" }];
		for (const protocol of PROTOCOLS) {
			const { chat, cluster, pairs } = gatewayOf({ protocol, reportsCache: false });
			const { usage } = await (await chat({ messages })).json<{ usage: object }>();
			expect(stagesOf(cluster)).toBe(protocol === "sglang" ? "p d" : "d");
			// What the decode replica reports about its own cache is true.
			const cached = protocol === "sglang" ? CACHED_TOKENS : 0;
			expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: cached } });
			expect(cluster.violations).toEqual([]);
			expect(pairs()?.choices).toMatchObject(protocol === "sglang" ? { pair: 1 } : { pair: 0, short: 1 });
		}
	});

	it("has an unknown number of cached tokens if the prefill engine reports none", async () => {
		const { chat, settled } = gatewayOf({ protocol: "nixl", reportsCache: false });
		const { usage } = await (await chat()).json<{ usage: object }>();
		expect(usage).toMatchObject({ prompt_tokens: PROMPT_TOKENS, prompt_tokens_details: null });
		expect(settled).toMatchObject([{ inputTokens: PROMPT_TOKENS, cachedTokens: 0 }]);
	});

	it("stays with a decode replica that has most of it in its cache", async () => {
		const { chat, cluster } = gatewayOf({ protocol: "nixl" });
		const first = { role: "user", content: LONG };
		await chat({ messages: [first] });
		await chat({
			messages: [first, { role: "assistant", content: TEXT }, { role: "user", content: "More" }],
		});
		expect(stagesOf(cluster)).toBe("p d d");
		expect(cluster.hosts[2]).toBe(cluster.hosts[1]);
	});

	it("has a handle whose host can be replaced with that of the prefill replica", async () => {
		const settings = { rewrite_remote_host: true };
		const { chat, cluster } = gatewayOf({ protocol: "nixl", hosts: ["p1", "d1"], settings });
		await chat();
		const [, decode] = cluster.calls;
		expect(decode?.body.kv_transfer_params).toMatchObject({ remote_host: "p1", remote_port: 5600 });
		expect(cluster.violations).toEqual([]);
	});

	it.each([
		["nixl", "d"],
		["sglang", "p d"],
		["tensorrt-llm", "d"],
	] as const)("for several answers: %s", async (protocol, stages) => {
		const { chat, cluster, settled } = gatewayOf({ protocol });
		const { choices } = await (await chat({ n: 2 })).json<{ choices: unknown[] }>();
		expect(choices).toHaveLength(2);
		expect(stagesOf(cluster)).toBe(stages);
		if (protocol === "sglang") {
			const rooms = cluster.calls.map(({ body }) => body.bootstrap_room);
			expect(new Set(rooms[0] as number[]).size).toBe(2);
			expect(rooms[1]).toEqual(rooms[0]);
		}
		expect(cluster.violations).toEqual([]);
		expect(settled).toHaveLength(1);
	});
});

/** The first call of a stage fails. */
function once(stage: "prefill" | "decode", fault: Fault): NonNullable<ClusterOptions["fault"]> {
	let failed = false;
	return (call) => {
		if (failed || call.stage !== stage) return undefined;
		failed = true;
		return fault;
	};
}

describe("a failure", () => {
	it.each(PROTOCOLS)("that every engine would repeat ends the request: %s", async (protocol) => {
		const { chat, cluster, settled, stages } = gatewayOf({ protocol, fault: once("prefill", "invalid") });
		const response = await chat();
		expect(response.status).toBe(400);
		expect(await response.text()).toContain("the prompt is too long");
		expect(cluster.hosts.filter((host) => host.startsWith("p"))).toHaveLength(1);
		expect(settled).toMatchObject([{ outcome: "failed", microNeurons: 0 }]);
		expect(stages()).toMatchObject(ALL_IDLE);
		expect(cluster.open).toBe(0);
	});

	it.concurrent.each(PROTOCOLS)("of a silent prefill replica is its own: %s", async (protocol) => {
		const fault = once("prefill", "silent");
		// Long enough for the decode replica on a busy machine.
		const timeouts = { header_ms: 900, first_token_ms: 900 };
		const { chat, cluster, services } = gatewayOf({ protocol, fault, timeouts });
		const response = await chat({ stream: true });
		expect(readStream(await response.text())).toMatchObject({ text: TEXT, done: true });
		const failing = services.health.engines?.().filter(({ failures }) => failures > 0);
		expect(failing?.map(({ replica }) => replica.slice(0, 1))).toEqual(["p"]);
		expect(cluster.open).toBe(0);
	});

	it.each(["nixl", "tensorrt-llm"] as const)("is never followed by an old handle: %s", async (protocol) => {
		let clock = NOW;
		const { chat, cluster } = gatewayOf({
			protocol,
			hosts: ["p1", "d1"],
			fault: once("decode", "busy"),
			now: () => clock,
			wait: async (ms) => {
				clock += ms;
			},
			route: { retries: { attempts: 2, max_ms: 60_000 } },
		});
		expect((await chat()).status).toBe(200);
		// The first handle has expired during the pause of 31 s.
		expect(clock - NOW).toBe(31_000);
		expect(cluster.handles.map(({ end }) => end)).toEqual(["open", "used"]);
		expect(cluster.violations).toEqual([]);
	});

	it.each(PROTOCOLS)("of all replicas is one error: %s", async (protocol) => {
		const { chat, cluster, settled, stages } = gatewayOf({ protocol, fault: () => "refuse" });
		const response = await chat();
		expect(response.status).toBeGreaterThanOrEqual(500);
		expect(settled).toMatchObject([{ outcome: "failed", microNeurons: 0 }]);
		expect(stages()).toMatchObject(ALL_IDLE);
		expect(cluster.open).toBe(0);
	});

	it("names the task that pairs do not have", async () => {
		const { cluster, post } = gatewayOf({ protocol: "sglang" });
		const response = await post(`/run/@cf/baai/bge-m3`, { text: ["Hi"] });
		expect(response.status).toBe(400);
		expect(await response.text()).toContain(
			"the replicas of the backend 'pair' only generate text, in pairs",
		);
		expect(cluster.calls).toEqual([]);
	});
});

describe("a caller that disconnects", () => {
	it.each(
		PROTOCOLS.flatMap((protocol) =>
			(["prefill", "decode"] as const).map((stage) => [protocol, stage] as const),
		),
	)("during the call of one stage ends both: %s %s", async (protocol, stage) => {
		const { chat, cluster, services, settled, stages } = gatewayOf({
			protocol,
			fault: once(stage, "silent"),
		});
		const caller = new AbortController();
		const response = Promise.resolve(chat({ stream: true }, { signal: caller.signal }));
		await expect.poll(() => cluster.calls.some((call) => call.stage === stage)).toBe(true);
		caller.abort();
		await response.catch(() => {});
		await expect.poll(() => cluster.open).toBe(0);
		await expect.poll(() => settled.length).toBe(1);
		expect(stages()).toMatchObject(ALL_IDLE);
		expect(services.health.engines?.().filter(({ failures }) => failures > 0)).toEqual([]);
		// A handle that was not used lapses at its engine.
		expect(cluster.handles.filter(({ end }) => end === "used")).toEqual([]);
	});
});

describe("explain", () => {
	it("shows the pair and the reason", async () => {
		const { post } = gatewayOf({ protocol: "nixl", hosts: ["p1", "d1"] });
		const explain = async (content: string) => {
			const response = await post(`/explain/${MODEL}`, { messages: [{ role: "user", content }] });
			const { result } = await response.json<{ result: { targets: object[] } }>();
			return result.targets;
		};
		const replica = { number: 2, of: 2, host: "d1:8000" };
		expect(await explain(LONG)).toMatchObject([
			{
				replica,
				prefill: { number: 1, of: 2, host: "p1:8000" },
				why: "in the order of the route, one of 2 replicas; a prefill replica processes the prompt",
			},
		]);
		const [short] = await explain("Hi");
		expect(short).toMatchObject({
			replica,
			why: "in the order of the route, one of 2 replicas; no prefill replica, because the prompt is short",
		});
		expect(short).not.toHaveProperty("prefill");
	});
});
