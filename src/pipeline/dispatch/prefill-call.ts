/**
 * The call of a prefill replica, beside that of the replica that answers. It has a flight and a health outcome of its own, because
 * a failure of one engine shows nothing about the other.
 */
import type { PrefillLeg } from "../../backends/backend.ts";
import type { AiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import type { CallOutcome } from "../../fleet/watched-call.ts";
import type { Flight } from "../../pools/flight.ts";
import type { PairCounts } from "../../pools/prefill-decode/pair-counts.ts";
import type { Disaggregation } from "../../pools/prefill-decode/settings.ts";
import type { PlannedTarget } from "../plan.ts";
import { recordFailure } from "./call-outcome.ts";
import { flightUsage } from "./observed-answer.ts";

/** The replica that the pool has chosen. */
export interface StartedPrefill {
	target: PlannedTarget;
	flight: Flight;
	disaggregation: Disaggregation;
	/** Of its pool. */
	counts: PairCounts | undefined;
}

export class PrefillCall implements PrefillLeg {
	readonly target: PlannedTarget;
	readonly disaggregation: Disaggregation;
	/** Why the replica did not process the prompt. */
	failure: AiError | undefined;
	readonly #flight: Flight;
	readonly #counts: PairCounts | undefined;
	readonly #outcome: CallOutcome;
	readonly #now: () => number;

	/** @param outcome of this call, which has started. */
	constructor(started: StartedPrefill, outcome: CallOutcome, now: () => number) {
		const { target, flight, disaggregation, counts } = started;
		this.target = target;
		this.#counts = counts;
		this.disaggregation = disaggregation;
		this.#flight = flight;
		this.#outcome = outcome;
		this.#now = now;
	}

	succeed(usage: Usage | undefined): void {
		const at = this.#now();
		this.#outcome.succeed();
		this.#flight.firstToken(at);
		this.#flight.end(at, flightUsage(usage));
	}

	fail(failure: AiError): void {
		this.failure = failure;
		recordFailure(this.#outcome, failure);
		this.#flight.end(this.#now());
	}

	countMissingHandle(): void {
		if (this.#counts) this.#counts.fallbacks.noHandle++;
	}

	cancel(): void {
		this.#outcome.cancel();
		this.#flight.end(this.#now());
	}
}
