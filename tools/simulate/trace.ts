/** Traces of requests: Mooncake's format, one JSON object on each line. */
import { readFileSync } from "node:fs";
import * as z from "zod";

/** Tokens of a block in Mooncake's traces. */
export const TRACE_BLOCK_TOKENS = 512;

export interface TraceRequest {
	/** Milliseconds from the start of the trace. */
	at: number;
	inputTokens: number;
	outputTokens: number;
	/** Equal ids are equal blocks after equal blocks. */
	blocks: readonly number[];
	account?: string;
}

const Line = z.object({
	timestamp: z.number(),
	input_length: z.number(),
	output_length: z.number(),
	hash_ids: z.array(z.number()),
});

/** Reads a trace, ordered by time. */
export const parseTrace = (text: string): TraceRequest[] =>
	spread(
		text
			.split("\n")
			.filter((line) => line.trim() !== "")
			.map((line) => {
				const { timestamp, input_length, output_length, hash_ids } = Line.parse(JSON.parse(line));
				return { at: timestamp, inputTokens: input_length, outputTokens: output_length, blocks: hash_ids };
			})
			.sort((a, b) => a.at - b.at),
	);

/** The clock of a trace may have steps (3 s in "conversation"). Requests of one step are spread evenly over it. */
function spread(trace: readonly TraceRequest[]): TraceRequest[] {
	const steps = [...Map.groupBy(trace, ({ at }) => at)];
	return steps.flatMap(([at, requests], i) => {
		const stepMs = (steps[i + 1]?.[0] ?? at) - at;
		return requests.map((request, k) => ({ ...request, at: at + (stepMs * k) / requests.length }));
	});
}

export const readTrace = (path: string): TraceRequest[] => parseTrace(readFileSync(path, "utf8"));

/** The trace laid over itself `copies` times, each copy shifted and with blocks of its own, up to a time. */
export function overlay(
	trace: readonly TraceRequest[],
	{ copies, untilMs }: { copies: number; untilMs: number },
): TraceRequest[] {
	const lastAt = trace.at(-1)?.at ?? 0;
	const maxBlock = trace.reduce((max, { blocks }) => blocks.reduce((a, b) => Math.max(a, b), max), 0);
	return Array.from({ length: copies }, (_, copy) => {
		const shift = (copy / copies) * lastAt;
		return trace.flatMap((request) => {
			const at = (request.at + shift) % (lastAt + 1);
			if (at > untilMs) return [];
			return [{ ...request, at, blocks: request.blocks.map((block) => block + copy * (maxBlock + 1)) }];
		});
	})
		.flat()
		.sort((a, b) => a.at - b.at);
}
