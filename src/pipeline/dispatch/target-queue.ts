/**
 * The targets of a plan that are left to try. A target with a pool stays until each of its replicas was tried; the pool
 * chooses the replica when it is taken.
 */
import type { CircuitState } from "../../fleet/breaker.ts";
import type { Health } from "../../fleet/health.ts";
import type { Choice, PoolRequest } from "../../pools/choice.ts";
import type { Flight } from "../../pools/pool.ts";
import { isPooled, type PlannedTarget, type PlanTarget, type PooledTarget } from "../plan.ts";

export interface QueueServices {
	health: Pick<Health, "circuit">;
	now(): number;
	/** The request in the terms of a pool. Called only if there is a pool. */
	poolRequest(target: PooledTarget): PoolRequest;
}

interface Chosen {
	pooled: PooledTarget;
	choice: Choice;
	request: PoolRequest;
}

/** `hasRoom`: the replica is below its limit of requests. */
type Accepts = (circuit: CircuitState, hasRoom: boolean) => boolean;

export class TargetQueue {
	readonly #services: QueueServices;
	readonly #targets: PlanTarget[];
	/** Replicas that were taken, by their addresses. A replica that is put back is the same object when it is taken again. */
	readonly #replicas = new Map<PooledTarget, Map<string, PlannedTarget>>();
	readonly #taken = new Set<PlannedTarget>();
	readonly #chosen = new Map<PlannedTarget, Chosen>();
	readonly #requests = new Map<PooledTarget, PoolRequest>();

	constructor(targets: readonly PlanTarget[], services: QueueServices) {
		this.#services = services;
		this.#targets = [...targets];
	}

	/** Whether a target is left. */
	get hasTargets(): boolean {
		return this.#targets.some((target) => !isPooled(target) || this.#hasUntried(target));
	}

	/**
	 * Takes the next target. Targets with an open circuit come last, and replicas at their limit of requests. `optional`: none of
	 * these is taken.
	 */
	next(optional = false): PlannedTarget | undefined {
		const ready = this.#take((circuit, hasRoom) => circuit !== "open" && hasRoom);
		return ready ?? (optional ? undefined : this.#take(() => true));
	}

	/** The target may be taken again. */
	putBack(target: PlannedTarget): void {
		this.#taken.delete(target);
		if (!this.#chosen.has(target)) this.#targets.unshift(target);
	}

	/** A call of the target starts. Returns nothing for a target without a pool. */
	start(target: PlannedTarget): Flight | undefined {
		const chosen = this.#chosen.get(target);
		if (!chosen) return undefined;
		return chosen.pooled.pool.replicas.start(chosen.choice, chosen.request, this.#services.now());
	}

	#take(accepts: Accepts): PlannedTarget | undefined {
		const { health } = this.#services;
		for (const [i, target] of this.#targets.entries()) {
			if (isPooled(target)) {
				const replica = this.#choose(target, accepts);
				if (replica) return replica;
			} else if (accepts(health.circuit(target), true)) {
				this.#targets.splice(i, 1);
				return target;
			}
		}
		return undefined;
	}

	#choose(pooled: PooledTarget, accepts: Accepts): PlannedTarget | undefined {
		const { health, now, poolRequest } = this.#services;
		const { pool, ...shared } = pooled;
		const request = this.#requests.get(pooled) ?? poolRequest(pooled);
		this.#requests.set(pooled, request);
		const maxRequests = pool.settings.gate?.maxRequests ?? Number.POSITIVE_INFINITY;
		const choice = pool.replicas.choose(
			request,
			now(),
			({ url, requests }) =>
				!this.#isTaken(pooled, url) && accepts(health.circuit({ ...shared, url }), requests < maxRequests),
		);
		if (!choice) return undefined;
		const { url } = choice.replica;
		const replicas = this.#replicas.get(pooled) ?? new Map<string, PlannedTarget>();
		const replica = replicas.get(url) ?? { ...shared, url, circuit: health.circuit({ ...shared, url }) };
		replicas.set(url, replica);
		this.#replicas.set(pooled, replicas);
		this.#taken.add(replica);
		this.#chosen.set(replica, { pooled, choice, request });
		return replica;
	}

	#isTaken(pooled: PooledTarget, url: string): boolean {
		const replica = this.#replicas.get(pooled)?.get(url);
		return replica !== undefined && this.#taken.has(replica);
	}

	#hasUntried(pooled: PooledTarget): boolean {
		return pooled.pool.replicas.members.some(({ url }) => !this.#isTaken(pooled, url));
	}
}
