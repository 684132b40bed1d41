/**
 * The account's part in the run of a line. Admissions go to the account's object, not to a lease, so that it knows the ticket of each. Bills
 * are kept, and stored with the result of the line; then the account gets them. A run that ends with its process is settled without a
 * cost by the next one: the operator pays for it.
 */
import type { Admission, AdmissionGrant, Admitted, Settlement } from "../../accounts/admission.ts";
import { refusal } from "../../accounts/client/account-reader.ts";
import type { Accounts } from "../../accounts/client/ledgers-services.ts";
import { failedSettlement } from "../../accounts/client/outbox.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { objectUnavailable } from "../../core/object-failure.ts";
import { withMembers } from "../../core/with-members.ts";
import { resultWithin } from "../../core/with-timeout.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import type { LineAdmissions } from "./line-admissions.ts";

/** Longer than a batch lives: a run is settled at the latest when its batch runs again. */
const HOLD_MS = 8 * 24 * 60 * 60_000;
/** The part of each rate of the account that lines may use up, so that live requests find the remainder. */
const RATE_SHARE = 0.75;
/** A bill arrives with the end of the answer, or soon after. */
const BILL_MS = 5_000;

interface LedgerServices extends Pick<PipelineServices, "ledgers"> {
	/** Of all lines of a run of a batch. */
	admissions: Pick<LineAdmissions, "add">;
	/** Resolves when the admitted line may call its backend. Rejects if it may not: the line was lost with its run. */
	takePlace(): Promise<void>;
	/** A line has a further ticket. Resolves before the account is called. */
	addTicket(ticket: string): Promise<void>;
	/** What the account pays of a bill. */
	discounted(settlement: Settlement, admission: Admission): Settlement;
}

export class LineLedger {
	/** Bills, in the order of their arrival. */
	readonly settlements: Settlement[] = [];
	/** The sum of the bills without discounts. Micro-neurons. */
	fullMicroNeurons = 0;
	/** Why the account has refused the line. */
	refused: AiError | undefined;
	readonly #ticket: string;
	readonly #services: LedgerServices;
	/** Without a bill. */
	readonly #open = new Map<string, Admission>();
	#hasPlace = false;
	#changed = Promise.withResolvers<void>();

	constructor(ticket: string, services: LedgerServices) {
		this.#ticket = ticket;
		this.#services = services;
	}

	/** The ledgers for the services of the run. */
	get ledgers(): Accounts {
		const { ledgers } = this.#services;
		return {
			of: (account) =>
				withMembers(ledgers.of(account), {
					admitFromLease: () => undefined,
					admit: (admission) => this.#admit(account, admission),
					settle: (settlement) => this.#settle(settlement),
				}),
		};
	}

	/** Resolves when all bills have arrived. Those that are missing are settled as failed. */
	async close(): Promise<void> {
		// A timer costs more than the remainder of this method.
		if (this.#open.size === 0) return;
		await resultWithin(this.#allBills(), BILL_MS);
		for (const admission of this.#open.values()) this.settlements.push(failedSettlement(admission));
		this.#open.clear();
	}

	async #allBills(): Promise<void> {
		while (this.#open.size > 0) await this.#changed.promise;
	}

	async #admit(account: string, admission: Admission): Promise<AdmissionGrant> {
		const { admissions, addTicket, ledgers, takePlace } = this.#services;
		const { credential, ticket } = admission;
		if (ticket !== this.#ticket) await addTicket(ticket);
		const rates = admission.rates.map(({ key, perMinute }) => ({
			key,
			perMinute: Math.max(1, Math.floor(perMinute * RATE_SHARE)),
		}));
		let admitted: Admitted;
		try {
			admitted = await admissions.add({ ...admission, rates, holdMs: HOLD_MS }, (all) =>
				ledgers.of(account).admitByObject(credential, all),
			);
		} catch (thrown) {
			// The account may have admitted it.
			this.settlements.push(failedSettlement(admission));
			throw thrown instanceof AiError ? thrown : objectUnavailable(thrown);
		}
		if (!admitted.ok) {
			this.refused = toAiError(refusal(admitted));
			throw this.refused;
		}
		this.#open.set(ticket, admission);
		if (!this.#hasPlace) {
			this.#hasPlace = true;
			await this.#orFailed(takePlace(), admission);
		}
		const { limited, outputTokens } = admitted;
		return { ...(limited && { limited }), ...(outputTokens !== undefined && { outputTokens }) };
	}

	/** If `work` fails, the engine is not called, so no bill arrives. */
	async #orFailed(work: Promise<void>, admission: Admission): Promise<void> {
		try {
			await work;
		} catch (thrown) {
			if (this.#open.delete(admission.ticket)) this.settlements.push(failedSettlement(admission));
			throw thrown;
		}
	}

	#settle(settlement: Settlement): void {
		const admission = this.#open.get(settlement.ticket);
		if (!admission) return;
		this.#open.delete(settlement.ticket);
		this.fullMicroNeurons += settlement.microNeurons;
		this.settlements.push(this.#services.discounted(settlement, admission));
		this.#changed.resolve();
		this.#changed = Promise.withResolvers();
	}
}
