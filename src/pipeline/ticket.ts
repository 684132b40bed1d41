/**
 * What was reserved for one request, and the duty to say what became of it. The first settlement counts; later ones
 * are ignored, so that whoever learns of an end may report it without asking who else has.
 */

import type { AccountLedger, Admission, Outcome, Settlement } from "../accounts/admission.ts";
import type { AiError } from "../core/errors.ts";
import type { Measured } from "../metering/measure.ts";
import type { Model } from "../models/model.ts";
import { microNeurons } from "../models/neurons.ts";
import { dataPoint } from "../telemetry/analytics.ts";
import type { Served } from "./request.ts";
import type { Services } from "./services.ts";

export interface Holding {
	asked: Admission;
	account: string;
	model: Model;
	/** Epoch milliseconds. */
	startedAt: number;
	ledger: AccountLedger;
	services: Pick<Services, "analytics" | "now" | "waitUntil">;
}

/** A settlement is longer on its way where the account's object cannot be reached at once. */
const MAX_WAY_MS = 60_000;

export class Ticket {
	readonly #holding: Holding;
	#firstAt: number | undefined;
	#limited = false;
	#settled = false;
	#release: () => void = () => {};

	constructor(holding: Holding) {
		this.#holding = holding;
		// A caller who leaves ends the request's context, unless something waits in it.
		holding.services.waitUntil(
			new Promise<void>((resolve) => {
				this.#release = resolve;
			}),
		);
	}

	/** A budget limits it that only the account's object knows: the token's own. */
	limit(): void {
		this.#limited = true;
	}

	/** Whether a budget limits it: what it uses beyond its reservation may be more than there is. */
	get limited(): boolean {
		return this.#limited || this.#holding.asked.budgets.length > 0;
	}

	/** Milliseconds within which it can be settled: then its reservation becomes its bill. */
	get leftMs(): number {
		const { asked, startedAt, services } = this.#holding;
		const wayMs = Math.min(MAX_WAY_MS, asked.holdMs / 10);
		return Math.max(0, startedAt + asked.holdMs - wayMs - services.now());
	}

	/** The first piece of an answer has been passed on. */
	begin(): void {
		this.#firstAt ??= this.#holding.services.now();
	}

	/** @returns what it cost, in micro-neurons. */
	settle(
		outcome: Exclude<Outcome, "failed" | "expired">,
		measured: Measured,
		served: Served,
		wasted = 0,
	): number {
		const { model } = this.#holding;
		const { quantities, estimated } = measured;
		const cost = microNeurons(model.prices, quantities) + wasted;
		this.#record(outcome, cost, {
			inputTokens: quantities.inputTokens ?? 0,
			cachedTokens: quantities.cachedTokens ?? 0,
			outputTokens: quantities.outputTokens ?? 0,
			estimated,
			backend: served.backend,
			attempts: served.attempts,
		});
		return cost;
	}

	/** There is no answer, and nothing to pay. */
	fail({ code }: AiError, { backend, attempts }: Pick<Served, "backend" | "attempts">): void {
		this.#record("failed", 0, {
			inputTokens: 0,
			cachedTokens: 0,
			outputTokens: 0,
			estimated: false,
			backend,
			attempts,
			code,
		});
	}

	/** The account said no: there is nothing to settle. */
	drop(): void {
		this.#settled = true;
		this.#release();
	}

	#record(
		outcome: Outcome,
		cost: number,
		facts: Omit<Settlement, "ticket" | "outcome" | "microNeurons" | "latencyMs" | "firstTokenMs">,
	): void {
		if (this.#settled) return;
		this.#settled = true;
		const { account, asked, startedAt, ledger, services } = this.#holding;
		const now = services.now();
		const settlement: Settlement = {
			ticket: asked.ticket,
			outcome,
			microNeurons: cost,
			...facts,
			latencyMs: now - startedAt,
			firstTokenMs: (this.#firstAt ?? now) - startedAt,
		};
		ledger.settle(settlement);
		services.analytics?.writeDataPoint(dataPoint(settlement, asked, account));
		this.#release();
	}
}
