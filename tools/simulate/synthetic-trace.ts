/**
 * A seeded trace with the statistics of Mooncake's "conversation" (kvcache-ai/Mooncake, FAST25-release): 3.4 requests per
 * second, prompts of about 12,000 tokens with a long tail, outputs of about 340 tokens, and a third of the prompt tokens in
 * an earlier prompt. All conversations begin with the same block.
 */
import { Random } from "../soak/random.ts";
import { TRACE_BLOCK_TOKENS, type TraceRequest } from "./trace.ts";

export interface SyntheticOptions {
	seed: number;
	requests: number;
	requestsPerSecond?: number;
}

/** Mean number of requests of a conversation. */
const MEAN_TURNS = 1.5;
/** Mean seconds between two requests of a conversation. */
const PAUSE_SECONDS = 40;
/** Medians, in tokens, and the standard deviations of the logarithms. */
const FIRST_PROMPT = { median: 6_200, deviation: 1.1 };
const ADDED_PROMPT = { median: 1_200, deviation: 1.2 };
const OUTPUT = { median: 210, deviation: 1 };
const MAX_TOKENS = 120_000;

export function syntheticTrace({
	seed,
	requests,
	requestsPerSecond = 3.4,
}: SyntheticOptions): TraceRequest[] {
	const random = new Random(seed);
	const exponential = (mean: number): number => -mean * Math.log(1 - random.next());
	const normal = (): number =>
		Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
	const logNormal = ({ median, deviation }: typeof OUTPUT): number =>
		Math.max(1, Math.round(median * Math.exp(deviation * normal())));
	let block = 0;
	let startedAt = 0;
	const trace: TraceRequest[] = [];
	while (trace.length < requests) {
		startedAt += exponential((1_000 * MEAN_TURNS) / requestsPerSecond);
		let at = startedAt;
		let inputTokens = Math.min(MAX_TOKENS, logNormal(FIRST_PROMPT));
		const blocks = [0];
		const isLast = () => random.chance(1 / MEAN_TURNS);
		for (let over = false; !over; over = isLast()) {
			while (blocks.length * TRACE_BLOCK_TOKENS < inputTokens) blocks.push(++block);
			const outputTokens = Math.min(2_000, logNormal(OUTPUT));
			trace.push({ at, inputTokens, outputTokens, blocks: [...blocks] });
			at += exponential(1_000 * PAUSE_SECONDS);
			inputTokens = Math.min(MAX_TOKENS, inputTokens + outputTokens + logNormal(ADDED_PROMPT));
			// The last block was incomplete, so its content changes.
			blocks.pop();
		}
	}
	// A conversation that has started goes on, but the trace ends.
	return trace.sort((a, b) => a.at - b.at).slice(0, requests);
}
