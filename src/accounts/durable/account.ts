/**
 * An account: its tokens, its limits and its ledger, in one Durable Object by the account's id. Every method is one
 * short synchronous step, so no two requests see the same room.
 *
 * Methods trust their caller, which is the Worker itself: who may read usage was asked with `verify`.
 */
import { DurableObject } from "cloudflare:workers";
import type {
	Admission,
	Admitted,
	CountedRequest,
	Credential,
	Permission,
	Settlement,
} from "../admission.ts";
import type { TokenCommand, TokenResult } from "../token-command.ts";
import { type AliasRow, AliasTable } from "./alias-table.ts";
import { CancelledTickets } from "./cancelled-tickets.ts";
import { Ledger, type PendingAdmission } from "./ledger.ts";
import type { LimitStatus, LimitStatusQuery } from "./limit-status.ts";
import { type RefusalsQuery, type RefusalsReport, WRITE_MS } from "./refusals.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import { type Refusal, Tokens } from "./tokens.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";
import type { VerifiedToken } from "./verified-token.ts";

export type Verified = { ok: true } | Refusal | Extract<Admitted, { ok: false }>;
interface Parts {
	ledger: Ledger;
	tokens: Tokens;
	aliases: AliasTable;
}

type Checked = { ok: true; bearer?: VerifiedToken } | Refusal;

/** An alarm so late is taken for lost: the runtime gives one up that fails again and again. */
const ALARM_LOST_MS = 60_000;

const UNKNOWN: Refusal = { ok: false, failure: "authentication" };
/** Nobody waits for this answer. */
const GIVEN_UP: Refusal = { ok: false, failure: "ledgerUnavailable" };

export class Account extends DurableObject {
	#parts: Parts | undefined;
	/** Not known after a start, until it is set anew. */
	#alarmAt: number | undefined;
	readonly #withdrawn = new CancelledTickets();

	/** Settlements that waited for a call are booked first, whatever becomes of the request. */
	admit(admission: Admission, settled: readonly Settlement[]): Admitted {
		const [answer = GIVEN_UP] = this.admitAll([admission], settled);
		return answer;
	}

	/** As if each had called {@link admit}, in order; all that is written is on the disk at once. */
	admitAll(admissions: readonly Admission[], settled: readonly Settlement[]): Admitted[] {
		if (settled.length > 0) this.settle(settled);
		const answers = new Map<Admission, Admitted>();
		const asking: PendingAdmission[] = [];
		for (const admission of admissions) {
			const checked = this.#withdrawn.has(admission.ticket)
				? GIVEN_UP
				: this.#check(admission.credential, "run");
			if (checked.ok) asking.push({ admission, bearer: checked.bearer });
			else answers.set(admission, checked);
		}
		for (const [admission, answer] of this.#letIn(asking)) answers.set(admission, answer);
		return admissions.map((admission) => answers.get(admission) ?? GIVEN_UP);
	}

	settle(settled: readonly Settlement[]): void {
		const ledger = this.#isNew() ? undefined : this.#open().ledger;
		for (const { outcome, ticket } of settled)
			if (outcome === "failed" && !ledger?.isOpen(ticket)) this.#withdrawn.add(ticket, Date.now());
		ledger?.settle(settled);
	}

	/** Counts `request` where the credential holds. */
	verify(credential: Credential, permission: Permission, request?: CountedRequest): Verified {
		const checked = this.#check(credential, permission);
		if (!checked.ok) return checked;
		return request ? this.#count(request, checked.bearer) : { ok: true };
	}

	tokens(command: TokenCommand): TokenResult {
		const byToken = command.kind === "verify" || command.maker.kind === "token";
		return byToken && this.#isNew() ? UNKNOWN : this.#open().tokens.run(command);
	}

	aliases(): AliasRow[] {
		return this.#isNew() ? [] : this.#open().aliases.all();
	}

	setAlias(row: AliasRow): boolean {
		return this.#open().aliases.set(row);
	}

	deleteAlias(alias: string): boolean {
		return !this.#isNew() && this.#open().aliases.delete(alias);
	}

	usage(query: UsageQuery): UsageReport {
		return this.#open().ledger.usage(query);
	}

	refusals(query: RefusalsQuery): RefusalsReport {
		return this.#open().ledger.refusals.report(query);
	}

	requests(query: RequestsQuery): RequestsPage {
		return this.#open().ledger.requests(query);
	}

	/** Of a token that does not hold: how the account stands without it. */
	limitStatus(query: LimitStatusQuery): LimitStatus {
		const checked = this.#check(query.credential, "run");
		const standing = this.#open().ledger.limitStatus(query, checked.ok ? checked.bearer : undefined);
		return checked.ok || !query.request ? standing : { ...standing, answer: checked };
	}

	override alarm(): void {
		const { ledger } = this.#open();
		ledger.expire();
		const next = ledger.sweep();
		this.#alarmAt = undefined;
		if (next !== undefined) this.#wakeAt(next);
	}

	#letIn(asking: readonly PendingAdmission[]): (readonly [Admission, Admitted])[] {
		if (asking.length === 0) return [];
		const { ledger } = this.#open();
		try {
			const answers = ledger.admitAll(asking);
			if (ledger.refusals.isPending) this.#wakeBy(Date.now() + WRITE_MS, ledger);
			return asking.map(({ admission, bearer }, i) => {
				const answer = answers[i] ?? GIVEN_UP;
				if (!answer.ok) return [admission, answer] as const;
				this.#expect(ledger, admission);
				return [admission, { ...answer, remaining: ledger.remaining(admission, bearer) }] as const;
			});
		} catch (error) {
			// What was not written has not been: the tables tell.
			this.#parts = undefined;
			throw error;
		}
	}

	#count(request: CountedRequest, bearer: VerifiedToken | undefined): Verified {
		const { ledger } = this.#open();
		try {
			const counted = ledger.count(request, bearer);
			if (ledger.refusals.isPending) this.#wakeBy(Date.now() + WRITE_MS, ledger);
			return counted;
		} catch (error) {
			this.#parts = undefined;
			throw error;
		}
	}

	#check(credential: Credential, permission: Permission): Checked {
		if (credential.kind === "operator") return { ok: true };
		if (this.#isNew()) return UNKNOWN;
		const checked = this.#open().tokens.check(credential.hash, permission);
		return checked.ok ? { ok: true, bearer: checked } : checked;
	}

	/** Nobody has used the account. A stranger's guess then leaves no trace: where there are no tables is no token. */
	#isNew(): boolean {
		if (this.#parts) return false;
		const { tables } = this.ctx.storage.sql
			.exec<{ tables: number }>("SELECT count(*) AS tables FROM sqlite_master WHERE name = 'requests'")
			.one();
		return tables === 0;
	}

	#open(): Parts {
		if (this.#parts) return this.#parts;
		const { storage } = this.ctx;
		const ledger = new Ledger(storage, () => Date.now());
		this.#parts = {
			ledger,
			tokens: new Tokens(storage.sql, () => ledger.now()),
			aliases: new AliasTable(storage.sql),
		};
		return this.#parts;
	}

	#expect(ledger: Ledger, { ticket }: Admission): void {
		const expiresAt = ledger.expiryOf(ticket);
		if (expiresAt !== undefined) this.#wakeBy(expiresAt, ledger);
	}

	/**
	 * One alarm, for the first of the open requests to expire or for refusals to be written: setting it is a write, and
	 * most admissions do without.
	 */
	#wakeBy(time: number, ledger: Ledger): void {
		const lost = this.#alarmAt === undefined || this.#alarmAt + ALARM_LOST_MS < Date.now();
		if (lost) this.#wakeAt(Math.min(time, ledger.nextExpiry() ?? time));
		else if (this.#alarmAt !== undefined && time < this.#alarmAt) this.#wakeAt(time);
	}

	#wakeAt(time: number): void {
		this.#alarmAt = time;
		// Not awaited: the answer leaves only when all writes are kept, this one among them.
		void this.ctx.storage.setAlarm(time);
	}
}
