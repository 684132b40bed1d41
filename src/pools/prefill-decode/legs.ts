/**
 * Chooses the replicas of a request in a pool with prefill and decode replicas: a pair, or one replica that does both. Each
 * leg is a flight of its own.
 */
import type { PoolRequest, ReplicaChoice, Usable } from "../choice.ts";
import type { Flight } from "../flight.ts";
import type { Pool } from "../pool.ts";
import type { LegsReason, PairCounts } from "./pair-counts.ts";
import { DISAGGREGATIONS, type Disaggregation, roleOf } from "./settings.ts";

/** The replicas of a pool by what they do. */
export interface Stages {
	/** Those that answer callers: roles `both` and `decode`. */
	readonly replicas: Pool;
	/** Absent: the pool has no prefill replicas. */
	readonly prefill?: Pool;
	/** Some replicas have both roles. */
	readonly hasBoth?: boolean;
	readonly settings: { readonly disaggregation?: Disaggregation };
	/** Absent: the choices are not counted. */
	readonly pairCounts?: PairCounts;
}

interface LegsRequest {
	request: PoolRequest;
	now: number;
	usable: { answer: Usable; prefill: Usable };
}

export interface Legs {
	/** The replica that answers. */
	answer: ReplicaChoice;
	/** The replica that processes the prompt. Absent: the one that answers. */
	prefill?: ReplicaChoice;
	/** Absent: the pool has no prefill replicas. */
	reason?: LegsReason;
}

interface Flights {
	answer: Flight;
	prefill?: Flight;
}

/** Whether engines can process the request in two legs. */
export const isPairable = (
	{ disaggregation }: { readonly disaggregation?: Disaggregation },
	choices: number | undefined,
): boolean =>
	disaggregation !== undefined &&
	choices !== undefined &&
	(choices === 1 || DISAGGREGATIONS[disaggregation.protocol].manyChoices);

/** Whether the pool can answer a request that is not split. */
export const answersUnsplit = ({ hasBoth, settings: { disaggregation } }: Stages): boolean =>
	hasBoth || !disaggregation || DISAGGREGATIONS[disaggregation.protocol].decodesAlone;

/** The best replicas that are usable. Changes nothing that the next choice depends on. */
export function chooseLegs(stages: Stages, query: LegsRequest): Legs | undefined {
	const { request, now, usable } = query;
	const { replicas, prefill, hasBoth, settings } = stages;
	const { disaggregation } = settings;
	if (!prefill || !disaggregation) {
		const answer = replicas.choose(request, now, usable.answer);
		return answer && { answer };
	}
	const { minPrefillTokens, protocol } = disaggregation;
	const { decodesAlone } = DISAGGREGATIONS[protocol];
	const isBoth: Usable = ({ url }) => roleOf(disaggregation, url) === "both";
	const chooseBoth = () =>
		hasBoth ? replicas.choose(request, now, (one) => isBoth(one) && usable.answer(one)) : undefined;
	const alone = decodesAlone ? replicas.choose(request, now, usable.answer) : chooseBoth();
	const without = (reason: LegsReason) => alone && { answer: alone, reason };
	if (!isPairable(settings, request.choices)) return without("unpaired");
	if (alone && request.inputTokens <= minPrefillTokens) return without("short");
	if (alone && request.inputTokens - alone.cachedTokens <= minPrefillTokens) return without("cached");

	const first = prefill.choose(request, now, usable.prefill);
	if (!first) return without("noPrefill");
	const decode = replicas.choose(transferred(request), now, (one) => !isBoth(one) && usable.answer(one));
	if (!decode) return without("noDecode");
	const both = chooseBoth();
	if (both && both.expectedMs <= first.expectedMs) return { answer: both, reason: "sooner" };
	return { answer: decode, prefill: first, reason: "pair" };
}

/** The request goes to the chosen replicas. Both flights start at once, so that other requests count the load to come. */
export function startLegs(
	stages: Stages,
	{ answer, prefill, reason }: Legs,
	request: PoolRequest,
	now: number,
): Flights {
	const { pairCounts, replicas } = stages;
	if (reason && pairCounts) pairCounts.choices[reason]++;
	if (!prefill || !stages.prefill) return { answer: replicas.start(answer, request, now) };
	const { blocks, inputTokens, session } = request;
	const { replica } = answer;
	const decoding = replicas.start({ ...answer, cachedTokens: inputTokens }, transferred(request), now);
	// The memory for the prompt and the output is taken at once, and there is no prompt to wait for.
	decoding.firstToken(now);
	if (!replica.draining) {
		replicas.index.add(replica, blocks);
		if (session !== undefined) replicas.sessions.set(session, replica, request);
	}
	const prompt = { ...request, maxOutputTokens: 1, streamed: true };
	return { answer: decoding, prefill: stages.prefill.start(prefill, prompt, now) };
}

/**
 * The request of a replica that receives the processed prompt: caches and sessions do not matter, so the least loaded replica is
 * the best. Without blocks, the cached tokens that it reports teach nothing about its cache.
 */
function transferred({ session: _, ...request }: PoolRequest): PoolRequest {
	return { ...request, blocks: [], streamed: true };
}
