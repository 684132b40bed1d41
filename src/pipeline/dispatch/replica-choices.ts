/** The replicas that the pools of a request have chosen, and those that are left to try. */
import type { Health } from "../../fleet/health.ts";
import type { Addressed } from "../../fleet/watched-call.ts";
import type { PoolRequest, Usable } from "../../pools/choice.ts";
import type { Flight } from "../../pools/flight.ts";
import { chooseLegs, type Legs, startLegs } from "../../pools/prefill-decode/legs.ts";
import { DISAGGREGATIONS } from "../../pools/prefill-decode/settings.ts";
import type { Replica } from "../../pools/replica.ts";
import type { PlannedTarget, PooledTarget } from "../plan.ts";
import type { StartedPrefill } from "./prefill-call.ts";

export interface QueueServices {
	health: Pick<Health, "circuit">;
	now(): number;
	/** The request in the terms of a pool. Called only if there is a pool. */
	poolRequest(target: PooledTarget): PoolRequest;
}

interface Chosen {
	pooled: PooledTarget;
	legs: Legs;
	request: PoolRequest;
}

/** The call of a replica, with that of its prefill replica. */
export interface StartedFlights {
	flight: Flight;
	prefill?: StartedPrefill;
}

/** `ready`: the circuit is not open, and an answering replica is below its limit of requests. Prefill replicas have none. */
export type AcceptedTargets = "ready" | "any";

export class ReplicaChoices {
	readonly #services: QueueServices;
	/** Replicas that were taken, by their addresses. A replica that is put back is the same object when it is taken again. */
	readonly #replicas = new Map<PooledTarget, Map<string, PlannedTarget>>();
	readonly #taken = new Set<PlannedTarget>();
	readonly #chosen = new Map<PlannedTarget, Chosen>();
	readonly #requests = new Map<PooledTarget, PoolRequest>();
	/** Addresses of prefill replicas that have failed in this request. */
	readonly #failedPrefills = new Set<string>();

	constructor(services: QueueServices) {
		this.#services = services;
	}

	/** The replica may be taken again. Returns `false` for a target without a pool. */
	putBack(target: PlannedTarget): boolean {
		this.#taken.delete(target);
		return this.#chosen.has(target);
	}

	/** A call of the target starts. Returns nothing for a target without a pool. */
	start(target: PlannedTarget): StartedFlights | undefined {
		const chosen = this.#chosen.get(target);
		if (!chosen) return undefined;
		const { pooled, legs, request } = chosen;
		const { disaggregation } = pooled.pool.settings;
		const { answer: flight, prefill } = startLegs(pooled.pool, legs, request, this.#services.now());
		if (!prefill || !disaggregation) return { flight };
		const { pairCounts: counts } = pooled.pool;
		return {
			flight,
			prefill: { target: this.#targetAt(pooled, prefill.replica), flight: prefill, disaggregation, counts },
		};
	}

	legsOf(target: PlannedTarget): Legs | undefined {
		return this.#chosen.get(target)?.legs;
	}

	/** See `TargetQueue`. */
	replacePrefill(target: PlannedTarget): boolean {
		const chosen = this.#chosen.get(target);
		const failed = chosen?.legs.prefill?.replica.url;
		const disaggregation = chosen?.pooled.pool.settings.disaggregation;
		if (!chosen || !disaggregation || failed === undefined) return false;
		this.#failedPrefills.add(failed);
		const { decodesAlone } = DISAGGREGATIONS[disaggregation.protocol];
		const legs = this.#chooseLegs(chosen, {
			answer: ({ url }) => url === target.url,
			prefill: (replica) => !decodesAlone && this.#isPrefillUsable(chosen.pooled, replica.url, "ready"),
		});
		if (!legs) return false;
		const { pairCounts } = chosen.pooled.pool;
		if (!legs.prefill && pairCounts) pairCounts.fallbacks.prefillFailed++;
		const { reason: _, ...withoutReason } = legs;
		// The choice was counted as a pair.
		this.#chosen.set(target, { ...chosen, legs: legs.prefill ? legs : withoutReason });
		return true;
	}

	/** Takes a replica. Returns nothing if the pool has none that is accepted. */
	choose(pooled: PooledTarget, accepted: AcceptedTargets): PlannedTarget | undefined {
		const { poolRequest } = this.#services;
		const { pool } = pooled;
		const request = this.#requests.get(pooled) ?? poolRequest(pooled);
		this.#requests.set(pooled, request);
		const maxRequests = pool.settings.gate?.maxRequests ?? Number.POSITIVE_INFINITY;
		const legs = this.#chooseLegs(
			{ pooled, request },
			{
				answer: ({ url, requests }) =>
					!this.#isTaken(pooled, url) &&
					(accepted === "any" || (requests < maxRequests && !this.#isOpen(pooled, url))),
				prefill: ({ url }) => this.#isPrefillUsable(pooled, url, accepted),
			},
		);
		if (!legs) return undefined;
		const { replica } = legs.answer;
		const replicas = this.#replicas.get(pooled) ?? new Map<string, PlannedTarget>();
		const target = replicas.get(replica.url) ?? this.#targetAt(pooled, replica);
		replicas.set(replica.url, target);
		this.#replicas.set(pooled, replicas);
		this.#taken.add(target);
		this.#chosen.set(target, { pooled, legs, request });
		return target;
	}

	#chooseLegs(
		{ pooled, request }: Pick<Chosen, "pooled" | "request">,
		usable: { answer: Usable; prefill: Usable },
	): Legs | undefined {
		const query = { request, now: this.#services.now(), usable };
		return chooseLegs(pooled.pool, query);
	}

	#isPrefillUsable(pooled: PooledTarget, url: string, accepted: AcceptedTargets): boolean {
		return !this.#failedPrefills.has(url) && (accepted === "any" || !this.#isOpen(pooled, url));
	}

	#isOpen(pooled: PooledTarget, url: string): boolean {
		return this.#services.health.circuit(addressOf(pooled, url)) === "open";
	}

	#targetAt(pooled: PooledTarget, replica: Replica): PlannedTarget {
		const { url } = replica;
		const circuit = this.#services.health.circuit(addressOf(pooled, url));
		const known = closedTargets.get(pooled) ?? new WeakMap<Replica, PlannedTarget>();
		closedTargets.set(pooled, known);
		const target = circuit === "closed" ? known.get(replica) : undefined;
		if (target) return target;
		const { pool: _, ...shared } = pooled;
		const made = { ...shared, url, circuit };
		if (circuit === "closed") known.set(replica, made);
		return made;
	}

	#isTaken(pooled: PooledTarget, url: string): boolean {
		const replica = this.#replicas.get(pooled)?.get(url);
		return replica !== undefined && this.#taken.has(replica);
	}

	hasUntried(pooled: PooledTarget): boolean {
		return pooled.pool.replicas.members.some(({ url }) => !this.#isTaken(pooled, url));
	}
}

/**
 * The targets of replicas with a closed circuit. Many requests have the same one, because backends keep the headers and the
 * functions that they make for a target.
 */
const closedTargets = new WeakMap<PooledTarget, WeakMap<Replica, PlannedTarget>>();

/** Each choice looks up several circuits, and a copy of the target for each would cost more than the choice. */
const addressOf = ({ anyModel, backend, model }: PooledTarget, url: string): Addressed =>
	anyModel ? { backend, url, model, anyModel } : { backend, url, model };
