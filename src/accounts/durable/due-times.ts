/** When an account is due: when a request or a lease of it expires, counted refusals are written, or its rows are swept. */
import type { Due } from "./account-table.ts";
import type { Ledger } from "./ledger.ts";
import { WRITE_MS } from "./refusals.ts";

/** The alarm of the object. */
export interface AlarmPlace {
	/** When the account was due at its opening. */
	readonly due: Due;
	setDue(due: Due): void;
	/** Sets the alarm again if the runtime may have dropped it. */
	ensureAlarm(): void;
}

/** The rows of an account that is used are swept after this time at the latest. An account that is never idle is swept more often. */
const SWEEP_MS = 60 * 60 * 1000;

export class DueTimes {
	readonly #place: AlarmPlace;
	#due: Due;

	constructor(place: AlarmPlace) {
		this.#place = place;
		this.#due = place.due;
	}

	/**
	 * The account is due at this time, unless it already is earlier, and soon if refusals are counted. A change is a write, which most
	 * admissions avoid.
	 */
	wakeBy(time: number, { refusals }: Ledger): void {
		const { wakeAt, sweepAt = Number.POSITIVE_INFINITY } = this.#due;
		const due = refusals.isPending ? Math.min(time, Date.now() + WRITE_MS) : time;
		if (due === Number.POSITIVE_INFINITY) return;
		if (wakeAt !== undefined && wakeAt <= due) this.#place.ensureAlarm();
		else this.#set(due, Math.min(sweepAt, Date.now() + SWEEP_MS));
	}

	/** If nothing expires any more, the account is not due before its rows are swept. */
	rest(ledger: Ledger): void {
		const { wakeAt, sweepAt } = this.#due;
		if (wakeAt === undefined || sweepAt === undefined || wakeAt >= sweepAt) return;
		if (ledger.isIdle && !ledger.refusals.isPending) this.#set(sweepAt, sweepAt);
	}

	/** After a sweep. `sweepAt`: when the next row may be deleted. */
	swept(ledger: Ledger, sweepAt: number | undefined): void {
		const times = [ledger.nextExpiry(), sweepAt].filter((time) => time !== undefined);
		this.#set(times.length > 0 ? Math.min(...times) : undefined, sweepAt);
	}

	#set(wakeAt: number | undefined, sweepAt: number | undefined): void {
		this.#due = { ...(wakeAt !== undefined && { wakeAt }), ...(sweepAt !== undefined && { sweepAt }) };
		this.#place.setDue(this.#due);
	}
}
