/**
 * The leases that an account has granted (src/accounts/lease.ts). A lease reserves its neurons in every budget and its requests in
 * every rate, so no other request can use them. It is a row, because the isolate may use it after a restart of the object.
 *
 * A lease that the isolate does not return is charged: its requests may have been answered by an isolate that no longer exists.
 * The charge is what remains of the lease. If the isolate reports requests of it later, the charge becomes smaller by them.
 */
import type { JournalBatch, Lease } from "../lease.ts";
import { KEY_SEPARATOR, rateKeys } from "./request-rows.ts";

/** A batch may be sent repeatedly before it arrives. After this time the lease is charged. */
export const GRACE_MS = 15_000;
/** How long a charged lease is kept for reports that arrive late, and a journal without batches. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * `leases`: one row for each lease that is in use or charged. Written by its grant, by each batch that uses it, and by its
 * charge; deleted by its return, or by the first alarm that runs an hour after its end. `journals`: the last batch of each journal, to book none twice.
 */
const TABLES = `CREATE TABLE IF NOT EXISTS leases (
	id TEXT PRIMARY KEY,
	granted_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	hold_ms INTEGER NOT NULL,
	model TEXT NOT NULL,
	task TEXT NOT NULL,
	token TEXT NOT NULL,
	rate_keys TEXT NOT NULL,
	requests INTEGER NOT NULL,
	micro_neurons INTEGER NOT NULL,
	charge_id INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journals (
	id TEXT PRIMARY KEY,
	sequence INTEGER NOT NULL,
	written_at INTEGER NOT NULL
) WITHOUT ROWID`;

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
}

type LeaseRow = {
	id: string;
	granted_at: number;
	expires_at: number;
	hold_ms: number;
	model: string;
	task: string;
	token: string;
	rate_keys: string;
	requests: number;
	micro_neurons: number;
	charge_id: number | null;
};

export class Leases {
	readonly #sql: SqlStorage;
	readonly #leases = new Map<string, HeldLease>();

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLES);
		for (const row of sql.exec<LeaseRow>("SELECT * FROM leases")) this.#leases.set(row.id, heldLease(row));
	}

	get(id: string): HeldLease | undefined {
		return this.#leases.get(id);
	}

	/** Those that are not charged. */
	*held(): Iterable<HeldLease> {
		for (const lease of this.#leases.values()) if (lease.chargeId === undefined) yield lease;
	}

	/** Those whose reports are overdue. */
	overdue(now: number): HeldLease[] {
		return [...this.held()].filter(({ expiresAt }) => expiresAt + GRACE_MS <= now);
	}

	/** When the next lease is overdue. */
	nextExpiry(): number | undefined {
		let next: number | undefined;
		for (const { expiresAt } of this.held()) next = Math.min(next ?? Number.POSITIVE_INFINITY, expiresAt);
		return next === undefined ? undefined : next + GRACE_MS;
	}

	/** Writes a lease that is new, or has changed. */
	write(lease: HeldLease): void {
		this.#leases.set(lease.id, lease);
		this.#sql.exec(
			`INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET requests = excluded.requests, micro_neurons = excluded.micro_neurons,
				charge_id = excluded.charge_id`,
			lease.id,
			lease.grantedAt,
			lease.expiresAt,
			lease.holdMs,
			lease.model,
			lease.task,
			lease.token,
			lease.rateKeys.join(KEY_SEPARATOR),
			lease.requests,
			lease.microNeurons,
			lease.chargeId ?? null,
		);
	}

	delete(id: string): void {
		if (this.#leases.delete(id)) this.#sql.exec("DELETE FROM leases WHERE id = ?", id);
	}

	/** Whether the batch is new, the last one again, or older. Records that it is booked. */
	begin(
		{ journal, sequence }: Pick<JournalBatch, "journal" | "sequence">,
		now: number,
	): "new" | "last" | "older" {
		const [last] = this.#sql
			.exec<{ sequence: number }>("SELECT sequence FROM journals WHERE id = ?", journal)
			.toArray();
		if (last && last.sequence >= sequence) return last.sequence === sequence ? "last" : "older";
		this.#sql.exec(
			`INSERT INTO journals VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET sequence = excluded.sequence, written_at = excluded.written_at`,
			journal,
			sequence,
			now,
		);
		return "new";
	}

	deleteExpired(now: number): void {
		for (const { id, chargeId, expiresAt } of [...this.#leases.values()])
			if (chargeId !== undefined && expiresAt + KEPT_MS <= now) this.delete(id);
		this.#sql.exec("DELETE FROM journals WHERE written_at <= ?", now - KEPT_MS);
	}
}

const heldLease = (row: LeaseRow): HeldLease => ({
	id: row.id,
	grantedAt: row.granted_at,
	expiresAt: row.expires_at,
	holdMs: row.hold_ms,
	model: row.model,
	task: row.task,
	token: row.token,
	rateKeys: rateKeys(row),
	requests: row.requests,
	microNeurons: row.micro_neurons,
	...(row.charge_id !== null && { chargeId: row.charge_id }),
});

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
