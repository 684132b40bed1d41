/**
 * Prefill and decode replicas of a pool: one replica processes the prompt, another generates the output. How the engines of a
 * pool transfer the prompt from one to the other is a row of `DISAGGREGATIONS`.
 */
import type { Role } from "../replica.ts";
import type { ReplicaRoles } from "../replica-roles.ts";

interface Traits {
	/** A decode replica also answers a request whose prompt no other replica has processed. */
	decodesAlone: boolean;
	/** Several choices (`n`) can be generated from one prompt that was transferred. */
	manyChoices: boolean;
}

/** The wire formats are in `backends/openai/prefill-decode/protocols.ts`. */
export const DISAGGREGATIONS = {
	/** vLLM. A handle is consumed by its first use, so it serves one choice. */
	nixl: { decodesAlone: true, manyChoices: false },
	/** Engines that were started as decode servers refuse a request without a room. */
	sglang: { decodesAlone: false, manyChoices: true },
	"tensorrt-llm": { decodesAlone: true, manyChoices: false },
} as const satisfies Record<string, Traits>;

export type DisaggregationName = keyof typeof DISAGGREGATIONS;

/** `BACKENDS.x.pool.disaggregation`, with the roles of the replicas. */
export interface Disaggregation extends ReplicaRoles {
	protocol: DisaggregationName;
	/** A prompt with at most so many uncached tokens is processed by the replica that answers. */
	minPrefillTokens: number;
	/** vLLM: replace the host in a handle with that of the prefill replica's address. */
	rewriteRemoteHost: boolean;
}

export const roleOf = (disaggregation: Disaggregation | undefined, url: string): Role =>
	disaggregation?.roles[url] ?? "both";
