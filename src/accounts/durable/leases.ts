/**
 * The leases that an account has granted (src/accounts/lease.ts). A lease reserves its neurons in every budget and its requests in
 * every rate, so no other request can use them. It is a row, because the isolate may use it after a restart of the object.
 *
 * A lease that the isolate does not return is charged: its requests may have been answered by an isolate that no longer exists.
 * The charge is what remains of the lease. If the isolate reports requests of it later, the charge becomes smaller by them; if
 * it returns the lease later, there is no charge.
 */
import type { JournalBatch } from "../admission.ts";
import { type Lease, MAX_LEASE_MS } from "../lease.ts";
import type { TokenLimits } from "../token-command.ts";
import { rateKeys, rateKeysText } from "./request-rows.ts";
import { type AccountRows, RowTable, type TableOptions } from "./row-table.ts";

/** A batch may be sent repeatedly before it arrives. After this time the lease is charged. */
export const GRACE_MS = 15_000;
/** How long a charged lease is kept for reports that arrive late. */
const KEPT_MS = 60 * 60 * 1000;
/** How long a journal without batches is kept: longer than any lease of its last batch. Else a copy of the batch would be booked again. */
const JOURNAL_KEPT_MS = KEPT_MS + MAX_LEASE_MS;

export interface HeldLease {
	id: string;
	grantedAt: number;
	/** The isolate no longer uses it. */
	expiresAt: number;
	holdMs: number;
	model: string;
	task: string;
	token: string;
	rateKeys: readonly string[];
	/** The remaining requests and micro-neurons. */
	requests: number;
	microNeurons: number;
	/** Id of the row that charges it. */
	chargeId?: number;
	/** The token's own limits at the grant. Not stored: a lease from before a restart of the object is not current any more. */
	limits?: TokenLimits;
}

interface LeaseRow extends Omit<HeldLease, "rateKeys" | "limits"> {
	rateKeys: string;
}

const LEASES = {
	id: "TEXT",
	grantedAt: "INTEGER NOT NULL",
	expiresAt: "INTEGER NOT NULL",
	holdMs: "INTEGER NOT NULL",
	model: "TEXT NOT NULL",
	task: "TEXT NOT NULL",
	token: "TEXT NOT NULL",
	rateKeys: "TEXT NOT NULL",
	requests: "INTEGER NOT NULL",
	microNeurons: "INTEGER NOT NULL",
	chargeId: "INTEGER",
} satisfies Record<keyof LeaseRow, string>;

/** The last batch of each journal, to book none twice. */
interface JournalRow {
	id: string;
	sequence: number;
	writtenAt: number;
}

const JOURNALS = {
	id: "TEXT",
	sequence: "INTEGER NOT NULL",
	writtenAt: "INTEGER NOT NULL",
} satisfies Record<keyof JournalRow, string>;

/** `last`: the journal's last batch again. `older`: a copy of an earlier one. */
export type BatchCopy = "new" | "last" | "older";

export class Leases {
	/**
	 * One row for each lease that is in use or charged. Written by its grant, by each batch that uses it, and by its charge; deleted
	 * by its return, or by the first alarm that runs an hour after its end.
	 */
	readonly #table: RowTable<LeaseRow>;
	readonly #journals: RowTable<JournalRow>;
	readonly #leases = new Map<string, HeldLease>();

	constructor(rows: AccountRows, { isNew = false }: TableOptions = {}) {
		this.#table = new RowTable<LeaseRow>({ rows, name: "leases", columns: LEASES, key: ["id"] });
		this.#journals = new RowTable<JournalRow>({ rows, name: "journals", columns: JOURNALS, key: ["id"] });
		for (const row of isNew ? [] : this.#table.select())
			this.#leases.set(row.id, { ...row, rateKeys: rateKeys(row.rateKeys) });
	}

	get(id: string): HeldLease | undefined {
		return this.#leases.get(id);
	}

	/** Leases that are not charged. */
	*held(): Iterable<HeldLease> {
		for (const lease of this.#leases.values()) if (lease.chargeId === undefined) yield lease;
	}

	/** Leases whose reports are overdue. */
	overdue(now: number): HeldLease[] {
		return [...this.held()].filter(({ expiresAt }) => expiresAt + GRACE_MS <= now);
	}

	/** When the next lease is overdue; infinite without one. */
	nextExpiry(): number {
		let next = Number.POSITIVE_INFINITY;
		for (const { chargeId, expiresAt } of this.#leases.values())
			if (chargeId === undefined && expiresAt < next) next = expiresAt;
		return next + GRACE_MS;
	}

	/** Writes a lease that is new, or has changed. */
	write(lease: HeldLease): void {
		this.#leases.set(lease.id, lease);
		const { limits: _, ...stored } = lease;
		this.#table.write({ ...stored, rateKeys: rateKeysText(lease.rateKeys) });
	}

	delete(id: string): void {
		if (this.#leases.delete(id)) this.#table.delete("id = ?", id);
	}

	/** Records that the batch is booked. */
	begin({ journal: id, sequence }: JournalBatch, now: number): BatchCopy {
		const [last] = this.#journals.select({ where: "id = ?" }, id);
		if (last && last.sequence >= sequence) return last.sequence === sequence ? "last" : "older";
		this.#journals.write({ id, sequence, writtenAt: now });
		return "new";
	}

	deleteExpired(now: number): void {
		for (const { id, chargeId, expiresAt } of [...this.#leases.values()])
			if (chargeId !== undefined && expiresAt + KEPT_MS <= now) this.delete(id);
		this.#journals.delete("written_at <= ?", now - JOURNAL_KEPT_MS);
	}
}

/** For the isolate. */
export const grantedLease = (
	{ id, requests, microNeurons, grantedAt, expiresAt }: HeldLease,
	{ isBudgeted, limited }: { isBudgeted: boolean; limited: boolean },
): Lease => ({
	id,
	requests,
	microNeurons,
	ms: expiresAt - grantedAt,
	isBudgeted,
	...(limited && { limited }),
});
