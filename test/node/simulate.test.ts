import { describe, expect, it } from "vitest";
import { type ClusterOptions, type Outcome, simulate } from "../../tools/simulate/cluster.ts";
import { SIMULATED } from "../../tools/simulate/policies.ts";
import { simulateShards } from "../../tools/simulate/shards.ts";
import { syntheticTrace } from "../../tools/simulate/synthetic-trace.ts";
import { mean, percentile, table, tableRow } from "../../tools/simulate/table.ts";
import { overlay, parseTrace, type TraceRequest } from "../../tools/simulate/trace.ts";
import { Random } from "../../tools/soak/random.ts";

const TRACE = syntheticTrace({ seed: 1, requests: 3_000 });
const run = (policy: string, options: Partial<ClusterOptions> = {}): Outcome => {
	const chosen = SIMULATED[policy];
	if (!chosen) throw new Error(`no policy ${policy}`);
	return simulate(TRACE, { replicas: 8, policy: chosen, ...options });
};
/** Times to the first token in milliseconds. */
const measured = ({ firstTokenMs, hitRate }: Outcome) => ({
	hit: Number(hitRate.toFixed(3)),
	mean: Math.round(mean(firstTokenMs)),
	p99: Math.round(percentile(firstTokenMs, 0.99)),
});

describe("the model of a cluster", () => {
	const request = (at: number, blocks: number[], more: Partial<TraceRequest> = {}): TraceRequest => ({
		at,
		inputTokens: blocks.length * 512,
		outputTokens: 10,
		blocks,
		...more,
	});

	it("processes one prompt after the other, and skips cached blocks", () => {
		// 1,024 tokens take 128 ms. The second request waits for the first, and has one new block.
		const outcome = simulate([request(0, [1, 2]), request(28, [1, 2, 3]), request(5_000, [1, 2])], {
			replicas: 1,
			policy: "expected",
		});
		expect(outcome.firstTokenMs).toEqual([0, 128, 164]);
		expect(outcome.hitRate).toBeCloseTo(2_048 / 3_584);
		expect(outcome.imbalance).toBe(1);
	});

	it("spreads requests that arrive together", () => {
		const together = [1, 2, 3, 4].map((block) => request(0, [block]));
		const outcome = simulate(together, { replicas: 4, policy: "expected" });
		expect(outcome.firstTokenMs).toEqual([64, 64, 64, 64]);
	});
});

describe("policies on a synthetic trace", () => {
	const expected = measured(run("expected"));

	it("give the same numbers for the same seed", () => {
		expect(expected).toEqual(FIXED.expected);
		expect(measured(run("least-tokens"))).toEqual(FIXED["least-tokens"]);
		expect(measured(run("round-robin"))).toEqual(FIXED["round-robin"]);
		expect(measured(run("sticky"))).toEqual(FIXED.sticky);
	});

	it("compare a few replicas, and lose nothing against a comparison of all", () => {
		const all = measured(run("all-compared"));
		expect(expected.mean).toBeLessThan(1.05 * all.mean);
		const large = { replicas: 200 };
		const trace = overlay(TRACE, { copies: 25, untilMs: 60_000 });
		const [few, every] = ["expected", "all-compared"].map((name) => {
			const policy = SIMULATED[name];
			if (!policy) throw new Error(`no policy ${name}`);
			return mean(simulate(trace, { ...large, policy }).firstTokenMs);
		});
		expect(few).toBeLessThan(1.05 * (every ?? 0));
	});

	it("lose less with several isolates if these share their loads", () => {
		const short = TRACE.slice(0, 1_000);
		const meanWith = (options: Partial<ClusterOptions>) =>
			mean(simulate(short, { replicas: 8, policy: "least-tokens", ...options }).firstTokenMs);
		const [one, apart, together] = [
			meanWith({}),
			meanWith({ isolates: 8 }),
			meanWith({ isolates: 8, exchangeMs: 100 }),
		];
		expect(apart).toBeGreaterThan(1.2 * one);
		expect(together).toBeLessThan(1.15 * one);
	});

	it("find cached prompts with several isolates if these share hints about them", () => {
		const short = TRACE.slice(0, 1_000);
		const hitWith = (options: Partial<ClusterOptions>) =>
			simulate(short, { replicas: 8, policy: "expected", ...options }).hitRate;
		const [one, apart, together] = [
			hitWith({}),
			hitWith({ isolates: 8 }),
			hitWith({ isolates: 8, exchangeMs: 100 }),
		];
		expect(apart).toBeLessThan(0.6 * one);
		expect(together).toBeGreaterThan(0.85 * one);
	});

	it("lose little in a pool that is divided into shards, whose objects are called as often as that of the whole", () => {
		const trace = overlay(TRACE, { copies: 10, untilMs: 60_000 });
		const options = { replicas: 80, policy: "expected", isolates: 4, exchangeMs: 100 } as const;
		const [whole, divided] = [1, 4].map((shards) => simulateShards(trace, shards, options));
		if (!whole || !divided) throw new Error("no outcome");
		expect(divided.firstTokenMs).toHaveLength(trace.length);
		expect(mean(divided.firstTokenMs)).toBeLessThan(1.15 * mean(whole.firstTokenMs));
		// Four isolates, ten times a second.
		for (const { exchangesPerSecond } of [whole, divided]) expect(Math.round(exchangesPerSecond)).toBe(40);
	});

	it("stay ahead of round-robin with wrong token estimates and an unknown cache size", () => {
		const random = new Random(5);
		const estimate = (tokens: number) => tokens * (0.6 + random.next());
		const noisy = measured(run("expected", { estimate, knownCache: false }));
		expect(noisy.mean).toBeLessThan(1.25 * expected.mean);
		expect(noisy.mean).toBeLessThan(FIXED["round-robin"].mean / 2);
	});
});

describe("traces", () => {
	it("reads Mooncake's format, and spreads requests over the steps of its clock", () => {
		const line = (timestamp: number, block: number) =>
			JSON.stringify({ timestamp, input_length: 700, output_length: 5, hash_ids: [0, block] });
		const trace = parseTrace(`${line(0, 1)}\n${line(0, 2)}\n${line(3_000, 3)}\n`);
		expect(trace.map(({ at }) => at)).toEqual([0, 1_500, 3_000]);
		expect(trace[1]).toEqual({ at: 1_500, inputTokens: 700, outputTokens: 5, blocks: [0, 2] });
		expect(() => parseTrace('{"timestamp": "now"}')).toThrow();
	});

	it("lays a trace over itself, with prompts of its own for each copy", () => {
		const [a, b] = [TRACE[0], TRACE[1]];
		if (!a || !b) throw new Error("an empty trace");
		const copies = overlay([a, { ...b, at: a.at + 1_000 }], { copies: 3, untilMs: 1e9 });
		expect(copies).toHaveLength(6);
		expect(new Set(copies.map(({ blocks }) => blocks[0])).size).toBe(3);
		expect(overlay(TRACE, { copies: 1, untilMs: 1_000 }).every(({ at }) => at <= 1_000)).toBe(true);
	});

	it("generates prompts like those of Mooncake's conversations", () => {
		const trace = syntheticTrace({ seed: 2, requests: 12_000 });
		const input = mean(trace.map(({ inputTokens }) => inputTokens));
		const output = mean(trace.map(({ outputTokens }) => outputTokens));
		const seen = new Set<number>();
		let repeated = 0;
		for (const { blocks } of trace) {
			repeated += blocks.filter((block) => seen.has(block)).length;
			for (const block of blocks) seen.add(block);
		}
		const share = repeated / trace.reduce((sum, { blocks }) => sum + blocks.length, 0);
		// The trace has 12,035 and 343 tokens, and a share of 0.37.
		expect(input).toBeGreaterThan(10_000);
		expect(input).toBeLessThan(14_000);
		expect(output).toBeGreaterThan(300);
		expect(output).toBeLessThan(380);
		expect(share).toBeGreaterThan(0.32);
		expect(share).toBeLessThan(0.42);
		expect(syntheticTrace({ seed: 2, requests: 50 })).toEqual(syntheticTrace({ seed: 2, requests: 50 }));
	});
});

describe("the table", () => {
	it("has a row for each policy", () => {
		const outcome = {
			firstTokenMs: [100, 200, 3_000],
			hitRate: 0.25,
			imbalance: 1.5,
			choiceUs: 7,
			exchanges: 0,
		};
		const [, , row] = table([tableRow("expected", outcome)]).split("\n");
		expect(row?.split("|").map((cell) => cell.trim())).toEqual([
			"",
			"expected",
			"25.0 %",
			"1100",
			"200",
			"3000",
			"3000",
			"66.7 %",
			"1.50",
			"7.0 us",
			"",
		]);
	});
});

/** From a run of this code, to detect unintended changes. */
const FIXED = {
	expected: { hit: 0.289, mean: 1187, p99: 8354 },
	"least-tokens": { hit: 0.088, mean: 1533, p99: 9232 },
	"round-robin": { hit: 0.093, mean: 2840, p99: 15601 },
	sticky: { hit: 0.281, mean: 1462, p99: 8746 },
};
