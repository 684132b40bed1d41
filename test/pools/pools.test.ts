import { describe, expect, it } from "vitest";
import { Discoveries } from "../../src/pools/discovery.ts";
import type { EnginePolls } from "../../src/pools/engine-polls.ts";
import type { LoadExchange } from "../../src/pools/load-exchange.ts";
import type { Pool } from "../../src/pools/pool.ts";
import type { PoolSettings } from "../../src/pools/pool-settings.ts";
import { Pools } from "../../src/pools/pools.ts";
import { ReplicaChanges } from "../../src/pools/replica-changes.ts";

const URLS = ["http://1", "http://2", "http://3"];
const NIXL = {
	protocol: "nixl",
	minPrefillTokens: 512,
	bootstrapPorts: {},
	rewriteRemoteHost: false,
} as const;
const DISCOVER = { url: "http://registry/", path: "/v1", refreshMs: 30_000 };
const membersOf = (pool: ReturnType<Pools["of"]>) => pool?.replicas.members.map(({ url }) => url);
const pools = (random = 0) => {
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	return new Pools({ random: () => random, changes });
};

describe("Pools", () => {
	it("has no pool for one address, unless it has settings", () => {
		expect(pools().of({ backend: "a", urls: ["http://1"] })).toBeUndefined();
		expect(membersOf(pools().of({ backend: "a", urls: ["http://1"], pool: {} }))).toEqual(["http://1"]);
	});

	it("has one pool for each backend", () => {
		const all = pools();
		const first = all.of({ backend: "a", urls: URLS });
		expect(all.of({ backend: "a", urls: URLS })).toBe(first);
		expect(all.of({ backend: "b", urls: URLS })).not.toBe(first);
		expect(all.reports(0).map(({ backend }) => backend)).toEqual(["a", "b"]);
	});

	it.each([
		[0.3, ["http://1", "http://2", "http://3"]],
		[0.4, ["http://2", "http://3", "http://1"]],
		[0.9, ["http://3", "http://1", "http://2"]],
	])("begins with a random replica: %f", (random, members) => {
		expect(membersOf(pools(random).of({ backend: "a", urls: URLS }))).toEqual(members);
	});

	it.each<[string, PoolSettings, object]>([
		["refuses requests at once", {}, { drained: 1, timeout: 0 }],
		["waits if a service lists the replicas", { discover: DISCOVER }, { drained: 0, timeout: 1 }],
		[
			"waits if a service starts replicas",
			{ wake: { url: "http://scaler/", cooldownMs: 1, waitMs: 1 } },
			{ drained: 0, timeout: 1 },
		],
	])("without a replica, a pool %s", async (_, settings, refused) => {
		const all = pools();
		const gate = { maxRequests: 1, maxWaiting: 5, maxWaitMs: 100 };
		const pool = all.of({ backend: "a", urls: [], pool: { ...settings, gate } });
		const request = { account: "a", priority: "interactive", cost: 1, mayWait: true } as const;
		const services = { now: () => 0, wait: async () => {} };
		const entered = pool?.gate?.enter({ ...request, signal: new AbortController().signal }, services);
		await expect(entered).rejects.toMatchObject({ key: "outOfCapacity" });
		expect(all.reports(0)).toMatchObject([{ gate: { refused } }]);
	});

	it("keeps the replicas that a new configuration has, with what was learned about them", () => {
		const all = pools();
		const before = all.of({ backend: "a", urls: URLS });
		const [kept] = before?.replicas.members.filter(({ url }) => url === "http://2") ?? [];
		const after = all.of({ backend: "a", urls: ["http://2", "http://4"] });
		expect(membersOf(after)).toEqual(["http://2", "http://4"]);
		expect(after?.replicas.members[0]).toBe(kept);
		expect(after?.urls).toEqual(["http://2", "http://4"]);
	});

	it("reports replicas, and tokens in progress", () => {
		const all = pools();
		const gate = { maxRequests: 1, maxWaiting: 5, maxWaitMs: 100 };
		const pool = all.of({ backend: "a", urls: URLS, pool: { gate } });
		const request = { inputTokens: 936, maxOutputTokens: 10, blocks: [], blockTokens: 512, streamed: true };
		const choice = pool?.replicas.choose(request, 0);
		if (!pool || !choice) throw new Error("no replica");
		const flight = pool.replicas.start(choice, request, 0);
		pool.replicas.drain(choice.replica.url);
		const active = URLS.filter((url) => url !== choice.replica.url);
		const common = { backend: "a", incoming: 0, active, draining: 1, requests: 1 };
		const idle = { waiting: 0, waitingTokens: 0, oldestMs: 0, refused: { full: 0, timeout: 0, drained: 0 } };
		// The mean prompt was 1,024 tokens before this request of 1,000. 8 tokens take a millisecond.
		expect(all.reports(0)).toEqual([
			{ ...common, prefillTokens: 1_000, decodeTokens: 0, expectedMs: 1_022.8 / 8, gate: idle },
		]);
		flight.firstToken(1);
		expect(all.reports(1)).toMatchObject([{ ...common, prefillTokens: 0, decodeTokens: 946 }]);
	});

	it("keeps the gate of a pool until its limits change", () => {
		const all = pools();
		const gateOf = (maxRequests: number, urls = [...URLS]) =>
			all.of({ backend: "a", urls, pool: { gate: { maxRequests, maxWaiting: 5, maxWaitMs: 100 } } })?.gate;
		const before = gateOf(1);
		expect(before).toBeDefined();
		expect(gateOf(1)).toBe(before);
		expect(gateOf(1, ["http://1"])).toBe(before);
		expect(gateOf(2)).not.toBe(before);
	});

	it("has split no request at first", () => {
		const all = pools();
		const disaggregation = { ...NIXL, roles: { "http://1": "prefill" } } as const;
		all.of({ backend: "a", urls: URLS, pool: { disaggregation } });
		expect(all.reports(0)[0]?.pairs).toEqual({
			choices: { pair: 0, short: 0, cached: 0, sooner: 0, unpaired: 0, noPrefill: 0, noDecode: 0 },
			fallbacks: { prefillFailed: 0, noHandle: 0 },
		});
	});

	it("reports no expected time without a replica", () => {
		const all = pools();
		all.of({ backend: "a", urls: [], pool: {} });
		expect(all.reports(0)).toMatchObject([{ backend: "a", active: [] }]);
		expect(all.reports(0)[0]).not.toHaveProperty("expectedMs");
	});

	it("starts anew with another policy", () => {
		const all = pools();
		const before = all.of({ backend: "a", urls: URLS });
		const after = all.of({ backend: "a", urls: URLS, pool: { policy: "round-robin" } });
		expect(after?.replicas).not.toBe(before?.replicas);
	});

	it("has the roles of a list and of the operator, which move a replica to another stage", async () => {
		const pool = {
			discover: { url: "http://registry/", path: "", refreshMs: 1_000 },
			disaggregation: { ...NIXL, roles: { "http://a": "prefill" } },
		} as const;
		let [now, list] = [0, '["http://a", {"url": "http://b", "role": "decode"}]'];
		const discoveries = new Discoveries({
			now: () => now,
			wait: async () => {},
			waitUntil: () => {},
			read: async () => list,
		});
		const changes = new ReplicaChanges({ now: () => now, wait: async () => {} });
		const all = new Pools({ random: () => 0, changes, discoveries });
		const backend = { backend: "a", urls: [], pool };
		const stages = () => {
			const { prefill, replicas } = all.of(backend) ?? {};
			return [prefill, replicas].map((stage) => stage?.members.map(({ url }) => url));
		};
		await all.refreshLists([backend]);
		expect(stages()).toEqual([["http://a"], ["http://b"]]);
		expect(all.of(backend)?.hasBoth).toBe(false);
		const [kept] = all.of(backend)?.replicas.members ?? [];

		changes.replace(
			[
				{
					backend: "a",
					url: "http://c",
					state: "active",
					added: true,
					role: "prefill",
					bootstrapPort: 9_000,
				},
			],
			1,
		);
		expect(stages()).toEqual([["http://a", "http://c"], ["http://b"]]);
		expect(all.status(backend).map(({ url, role, source }) => `${url} ${role} ${source}`)).toEqual([
			"http://a prefill discovery",
			"http://b decode discovery",
			"http://c prefill api",
		]);
		expect(all.of(backend)?.settings.disaggregation?.bootstrapPorts).toStrictEqual({ "http://c": 9_000 });

		[now, list] = [1_000, '[{"url": "http://a", "role": "decode"}, {"url": "http://b", "role": "decode"}]'];
		await all.refreshNow(backend);
		expect(stages()).toEqual([["http://c"], ["http://b", "http://a"]]);
		expect(all.of(backend)?.replicas.members[0]).toBe(kept);

		list = '["http://a", {"url": "http://b", "role": "encode"}]';
		await all.refreshNow(backend);
		expect(all.listProblem(backend)).toMatch(/^\[1\]\.role: /);
		expect(stages()).toEqual([["http://c"], ["http://b", "http://a"]]);
	});

	it("exchanges the loads of each stage that a pool has", async () => {
		const exchanged: [string, string[]][] = [];
		const start = (name: string, pool: Pool) =>
			void exchanged.push([name, pool.members.map(({ url }) => url)]);
		const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
		const loadExchange = { start } as unknown as LoadExchange;
		const all = new Pools({ random: () => 0, changes, loadExchange });
		const roles = { "http://1": "prefill", "http://2": "decode", "http://3": "decode" } as const;
		await all.refresh([
			{ backend: "a", urls: URLS, headers: {} },
			{ backend: "b", urls: URLS, pool: { disaggregation: { ...NIXL, roles } }, headers: {} },
			{ backend: "c", urls: ["http://1"], headers: {} },
		]);
		expect(exchanged).toEqual([
			["a ", URLS],
			["b ", ["http://2", "http://3"]],
			["b prefill", ["http://1"]],
		]);
	});

	it("polls the engines of each stage of a pool that has an interval", () => {
		const polled: [string[], number, string | undefined][] = [];
		const start: EnginePolls["start"] = (pool, pollMs, { key }) =>
			void polled.push([pool.members.map(({ url }) => url), pollMs, key]);
		const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
		const all = new Pools({ random: () => 0, changes, polls: { start } as unknown as EnginePolls });
		const disaggregation = { ...NIXL, roles: { "http://1": "prefill" } } as const;
		all.refresh([
			{ backend: "a", urls: URLS, headers: {}, key: "k", pool: { pollMs: 500, disaggregation } },
			{ backend: "b", urls: URLS, headers: {}, pool: {} },
		]);
		expect(polled).toEqual([
			[["http://2", "http://3"], 500, "k"],
			[["http://1"], 500, "k"],
		]);
	});

	it("reads the list of a backend at once if it has one", async () => {
		const reads: string[] = [];
		const discoveries = new Discoveries({
			now: () => 0,
			wait: async () => {},
			waitUntil: () => {},
			read: async (url) => {
				reads.push(url);
				return '["http://nine"]';
			},
		});
		const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
		const all = new Pools({ random: () => 0, changes, discoveries });
		await all.refreshNow({ backend: "a", urls: URLS });
		await all.refreshNow({ backend: "b", urls: URLS, pool: { discover: DISCOVER } });
		expect(reads).toEqual(["http://registry/"]);
		expect(membersOf(all.of({ backend: "b", urls: URLS, pool: { discover: DISCOVER } }))).toEqual([
			"http://nine/v1",
		]);
		expect(all.status({ backend: "b", urls: URLS, pool: { discover: DISCOVER } })).toMatchObject([
			{ url: "http://nine/v1", state: "active", source: "discovery", load: { requests: 0 } },
		]);
		expect(all.status({ backend: "a", urls: ["http://1"] })).toEqual([
			{ url: "http://1", state: "active", role: "both", source: "configuration" },
		]);
	});
});
