/**
 * Many streams at once, with kills of either engine at every phase and callers that disconnect. Each request is answered once or
 * refused with one error, is billed once, and leaves nothing at the engines or in the pool.
 * `VITE_PAIR_STREAMS=1000 npx vitest run --project worker test/pools/prefill-decode/kills.test.ts` has more streams.
 */
import { describe, expect, it } from "vitest";
import type { DisaggregationName } from "../../../src/pools/prefill-decode/settings.ts";
import { Random } from "../../../tools/soak/random.ts";
import { NOW } from "../../gateway.ts";
import { FAULTS, type Fault, TOKENS } from "./cluster.ts";
import { ALL_IDLE, gatewayOf, LONG, readStream } from "./pair-gateway.ts";

const STREAMS = Number(import.meta.env.VITE_PAIR_STREAMS ?? 40);
const AT_ONCE = 20;
/** Of the calls of each stage, every fourth fails. */
const FAULT_PERIOD = 4;
const TEXT = TOKENS.join("");

type Result = "answered" | "interrupted" | "refused" | "disconnected";

describe.each(["nixl", "sglang", "tensorrt-llm"] as const satisfies DisaggregationName[])(
	"%s",
	(protocol) => {
		it("answers or refuses each of many streams once, and bills it once", {
			timeout: 20_000 + 100 * STREAMS,
		}, async () => {
			const random = new Random(7);
			const faults: Fault[] = [];
			const counts = { prefill: 0, decode: 0 };
			// Circuits open and close again.
			let clock = NOW;
			const gateway = gatewayOf({
				protocol,
				hosts: ["p1", "p2", "p3", "d1", "d2", "d3", "b1"],
				now: () => clock,
				wait: async () => {},
				fault: ({ stage }) => {
					if (stage === "both") return undefined;
					const number = counts[stage]++;
					const list: readonly Fault[] = FAULTS[stage];
					const fault = number % FAULT_PERIOD === 0 ? list[(number / FAULT_PERIOD) % list.length] : undefined;
					if (fault) faults.push(fault);
					return fault;
				},
			});
			const { chat, cluster, settled, stages } = gateway;

			/** Reads one stream. A caller who is impatient disconnects after some milliseconds. */
			const request = async (i: number): Promise<Result> => {
				clock += 100;
				const caller = new AbortController();
				const isImpatient = random.chance(0.1);
				if (isImpatient) setTimeout(() => caller.abort(), random.int(0, 30));
				const messages = [{ role: "user", content: `${i} ${LONG}` }];
				try {
					const response = await chat(
						{ messages, stream: true, stream_options: { include_usage: true } },
						{ signal: caller.signal },
					);
					const text = await response.text();
					if (!response.ok) {
						expect(JSON.parse(text)).toMatchObject({ error: { message: expect.any(String) } });
						return "refused";
					}
					const stream = readStream(text);
					if (caller.signal.aborted && !stream.done) return "disconnected";
					expect(TEXT.startsWith(stream.text)).toBe(true);
					if (stream.error) {
						expect(stream.done).toBe(false);
						return "interrupted";
					}
					expect(stream).toMatchObject({
						text: TEXT,
						done: true,
						usage: { completion_tokens: TOKENS.length },
					});
					return "answered";
				} catch (error) {
					if (!caller.signal.aborted) throw error;
					return "disconnected";
				}
			};
			const results: Result[] = [];
			for (let from = 0; from < STREAMS; from += AT_ONCE)
				results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => request(from + i)))));

			const count = (result: Result) => results.filter((one) => one === result).length;
			await expect.poll(() => settled.length).toBe(STREAMS);
			await expect.poll(() => cluster.open).toBe(0);
			expect(new Set(settled.map(({ ticket }) => ticket)).size).toBe(STREAMS);
			const billed = (outcome: string) => settled.filter((one) => one.outcome === outcome).length;
			expect(billed("ok")).toBeGreaterThanOrEqual(count("answered"));
			expect(billed("ok") + billed("cancelled") + billed("interrupted") + billed("failed")).toBe(STREAMS);
			for (const { outcome, outputTokens, microNeurons } of settled) {
				if (outcome === "ok") expect(outputTokens).toBe(TOKENS.length);
				if (outcome === "failed") expect(microNeurons).toBe(0);
			}
			// Faults happened at all phases, and most requests survived them.
			expect(new Set(faults)).toEqual(new Set([...FAULTS.prefill, ...FAULTS.decode]));
			expect(count("answered")).toBeGreaterThan(0.8 * STREAMS);

			expect(cluster.violations).toEqual([]);
			expect(stages()).toMatchObject(ALL_IDLE);
			// A handle is used once. One that was not used lapses at its engine, and its decode call has failed or was cancelled.
			const unused = cluster.handles.filter(({ end }) => end === "open").length;
			const reasons =
				faults.filter((fault) => fault !== "cut" && fault !== "lost").length + count("disconnected");
			expect(unused).toBeLessThanOrEqual(reasons);
		});
	},
);
