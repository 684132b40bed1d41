/**
 * The targets of a plan that are left to try. A target with a pool stays until each of its replicas was tried; the pool
 * chooses the replica when it is taken (`replica-choices.ts`).
 */
import type { Legs } from "../../pools/prefill-decode/legs.ts";
import { isPooled, type PlannedTarget, type PlanTarget } from "../plan.ts";
import {
	type AcceptedTargets,
	type QueueServices,
	ReplicaChoices,
	type StartedFlights,
} from "./replica-choices.ts";

export class TargetQueue {
	readonly #services: QueueServices;
	#targets: readonly PlanTarget[];
	/** Absent until a target with a pool is considered. */
	#choices: ReplicaChoices | undefined;

	constructor(targets: readonly PlanTarget[], services: QueueServices) {
		this.#services = services;
		this.#targets = targets;
	}

	/** Whether a target is left. */
	get hasTargets(): boolean {
		return this.#targets.some((target) => !isPooled(target) || this.#replicas.hasUntried(target));
	}

	/**
	 * Takes the next target. Targets with an open circuit come last, and replicas at their limit of requests. `optional`: none of
	 * these is taken.
	 */
	next(optional = false): PlannedTarget | undefined {
		return this.#take("ready") ?? (optional ? undefined : this.#take("any"));
	}

	/** The target may be taken again. */
	putBack(target: PlannedTarget): void {
		if (!this.#choices?.putBack(target)) this.#targets = [target, ...this.#targets];
	}

	/** A call of the target starts. Returns nothing for a target without a pool. */
	start(target: PlannedTarget): StartedFlights | undefined {
		return this.#choices?.start(target);
	}

	/** The replicas that the pool has chosen for a target. Absent for a target without a pool. */
	legsOf(target: PlannedTarget): Legs | undefined {
		return this.#choices?.legsOf(target);
	}

	/**
	 * The prefill replica of the target has failed. The target processes the prompt itself, if its engine can; otherwise another
	 * prefill replica does. Returns `false` if there is none.
	 */
	replacePrefill(target: PlannedTarget): boolean {
		return this.#choices?.replacePrefill(target) ?? false;
	}

	#take(accepted: AcceptedTargets): PlannedTarget | undefined {
		const { health } = this.#services;
		for (const target of this.#targets) {
			if (isPooled(target)) {
				const replica = this.#replicas.choose(target, accepted);
				if (replica) return replica;
			} else if (accepted === "any" || health.circuit(target) !== "open") {
				this.#targets = this.#targets.filter((other) => other !== target);
				return target;
			}
		}
		return undefined;
	}

	get #replicas(): ReplicaChoices {
		this.#choices ??= new ReplicaChoices(this.#services);
		return this.#choices;
	}
}
