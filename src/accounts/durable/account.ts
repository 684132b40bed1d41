/**
 * The `Account` object: an account's tokens, limits and ledger. One Durable Object for each account id. Every method is one
 * short synchronous step, so two requests never share the same remaining budget.
 *
 * Methods do not check whether the caller may read usage: the Worker has done that with `verify`.
 */
import { DurableObject } from "cloudflare:workers";
import { lazy } from "../../core/lazy.ts";
import type {
	Admission,
	Admitted,
	CountedRequest,
	Credential,
	JournalAnswer,
	JournalBatch,
	LeaseCheck,
	Permission,
	Settlement,
} from "../admission.ts";
import {
	type BoundGateway,
	changeRefusal,
	type GatewayRefusal,
	refuseElsewhere,
	type VerifiedCredential,
} from "../bound-gateway.ts";
import type { TokenCommand, TokenResult } from "../token-command.ts";
import { type AliasRow, AliasTable } from "./alias-table.ts";
import { BoundGatewayTable } from "./bound-gateway-table.ts";
import { CancelledTickets } from "./cancelled-tickets.ts";
import type { VerifiedToken } from "./decision.ts";
import { Ledger, type PendingAdmission } from "./ledger.ts";
import type { LimitStatus, LimitStatusQuery } from "./limit-status.ts";
import { type RefusalsQuery, type RefusalsReport, WRITE_MS } from "./refusals.ts";
import type { RequestRecord } from "./request-rows.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import { type Refusal, Tokens } from "./tokens.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";

type Verified = ({ ok: true } & VerifiedCredential) | Extract<Admitted, { ok: false }>;

interface Parts {
	ledger: Ledger;
	/** Opened by their first use, because an account of the operator may have none. */
	tokens(): Tokens;
	aliases(): AliasTable;
	boundGateway: BoundGatewayTable;
}

type Checked = { ok: true; token?: VerifiedToken } | Refusal;
type CheckedRun = Checked | GatewayRefusal;

/** A later alarm is considered lost: the runtime drops an alarm that fails repeatedly. */
const ALARM_LOST_MS = 60_000;

const UNKNOWN: Refusal = { ok: false, failure: "authentication" };
/** The answer to a cancelled ticket. No request waits for it. */
const CANCELLED: Refusal = { ok: false, failure: "ledgerUnavailable" };

export class Account extends DurableObject {
	#parts: Parts | undefined;
	/** Unknown after a start, until it is set again. */
	#alarmAt: number | undefined;
	readonly #cancelled = new CancelledTickets();

	/** Books the settlements first, also if the request is refused. */
	admit(admission: Admission, settled: readonly Settlement[]): Admitted {
		const [answer = CANCELLED] = this.admitAll([admission], settled);
		return answer;
	}

	/** The same as one {@link admit} for each, in order, with all writes in one transaction. */
	admitAll(admissions: readonly Admission[], settled: readonly Settlement[]): Admitted[] {
		if (settled.length > 0) this.settle(settled);
		const answers = new Map<Admission, Admitted>();
		const pending: PendingAdmission[] = [];
		for (const admission of admissions) {
			const checked = this.#cancelled.has(admission.ticket)
				? CANCELLED
				: this.#checkRun(admission.credential);
			if (checked.ok) pending.push({ admission, token: checked.token });
			else answers.set(admission, checked);
		}
		for (const [admission, answer] of this.#admitChecked(pending)) answers.set(admission, answer);
		return admissions.map((admission) => answers.get(admission) ?? CANCELLED);
	}

	/** Books the requests that an isolate admitted from leases, then grants the next leases. */
	journal(batch: JournalBatch): JournalAnswer {
		return this.#step((ledger) => {
			// An older copy of a batch comes late: the isolate no longer knows its leases.
			if (!ledger.book(batch)) return [];
			const granted = batch.renewals.map((renewal) => {
				const checked = this.#checkRun(renewal.credential);
				return checked.ok ? ledger.grantLease(renewal, checked.token) : undefined;
			});
			this.#wakeBy(ledger.nextLeaseExpiry(), ledger);
			return granted;
		});
	}

	/** Whether each credential may still use its leases, with the limits that it had at their grants. Writes nothing. */
	checkLeases(checks: readonly LeaseCheck[]): boolean[] {
		return checks.map(({ credential, leases }) => {
			const checked = this.#checkRun(credential);
			return checked.ok && this.#open().ledger.areLeasesCurrent(leases, checked.token);
		});
	}

	settle(settled: readonly Settlement[]): void {
		const ledger = this.#isNew() ? undefined : this.#open().ledger;
		for (const { outcome, ticket } of settled)
			if (outcome === "failed" && ledger?.expiryOf(ticket) === undefined)
				this.#cancelled.add(ticket, Date.now());
		ledger?.settle(settled);
	}

	/** Counts `request` if the credential is valid. */
	verify(credential: Credential, permission: Permission, request?: CountedRequest): Verified {
		const checked = request ? this.#checkRun(credential, permission) : this.#check(credential, permission);
		if (!checked.ok) return checked;
		const { token } = checked;
		const gateway = this.#boundGateway(token);
		const verified = { ok: true as const, ...(token && { token: token.id }), ...(gateway && { gateway }) };
		if (!request?.rates.length) return verified;
		return this.#step((ledger) => {
			const counted = ledger.count(request, token);
			this.#scheduleWrite(ledger);
			return counted.ok ? verified : counted;
		});
	}

	tokens(command: TokenCommand): TokenResult {
		const byToken = command.kind === "verify" || command.maker.kind === "token";
		return byToken && this.#isNew() ? UNKNOWN : this.#open().tokens().run(command, this.boundGateway());
	}

	aliases(): AliasRow[] {
		return this.#isNew() ? [] : this.#open().aliases().all();
	}

	setAlias(row: AliasRow): boolean {
		return this.#open().aliases().set(row);
	}

	deleteAlias(alias: string): boolean {
		return !this.#isNew() && this.#open().aliases().delete(alias);
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

	/** Returns nothing if no such lease is charged. */
	forgiveLease(id: string): RequestRecord | undefined {
		return this.#isNew() ? undefined : this.#step((ledger) => ledger.forgiveLease(id));
	}

	/** For an invalid token: the account's limits without the token's own. */
	limitStatus(query: LimitStatusQuery): LimitStatus {
		const { credential } = query;
		const checked = query.request ? this.#checkRun(credential) : this.#check(credential, "run");
		const { ledger, tokens } = this.#open();
		const all = query.allTokens ? tokens().withBudget(credential) : undefined;
		const status = ledger.limitStatus(query, checked.ok ? checked.token : undefined, all);
		return checked.ok || !query.request ? status : { ...status, answer: checked };
	}

	override alarm(): void {
		const next = this.#step((ledger) => {
			ledger.expire();
			return ledger.sweep();
		});
		this.#alarmAt = undefined;
		if (next !== undefined) this.#wakeAt(next);
	}

	#admitChecked(pending: readonly PendingAdmission[]): (readonly [Admission, Admitted])[] {
		if (pending.length === 0) return [];
		return this.#step((ledger) => {
			const answers = ledger.admitAll(pending);
			this.#scheduleWrite(ledger);
			return pending.map(({ admission, token }, i) => {
				const answer = answers[i] ?? CANCELLED;
				if (!answer.ok) return [admission, answer] as const;
				this.#wakeBy(ledger.expiryOf(admission.ticket), ledger);
				const { lease: leaseRequest } = admission;
				const lease = leaseRequest && ledger.grantLease({ ...admission, lease: leaseRequest }, token);
				if (lease) this.#wakeBy(ledger.nextLeaseExpiry(), ledger);
				return [admission, { ...answer, ...(lease && { lease }) }] as const;
			});
		});
	}

	/** Runs one step. If it throws, the state is rebuilt from the tables, because the memory may be ahead of them. */
	#step<T>(run: (ledger: Ledger) => T): T {
		const { ledger } = this.#open();
		try {
			return run(ledger);
		} catch (error) {
			this.#parts = undefined;
			throw error;
		}
	}

	#check(credential: Credential, permission: Permission): Checked {
		if (credential.kind === "operator") return { ok: true };
		if (this.#isNew()) return UNKNOWN;
		const checked = this.#open().tokens().check(credential.hash, permission);
		if (!checked.ok) return checked;
		const description =
			permission === "gateways-write" ? changeRefusal(this.#boundGateway(checked)) : undefined;
		if (description !== undefined) return { ok: false, failure: "forbidden", description };
		return { ok: true, token: checked };
	}

	/** As {@link #check}, for a request: it must run in the gateway that its token or the account binds. */
	#checkRun(credential: Credential, permission: Permission = "run"): CheckedRun {
		const checked = this.#check(credential, permission);
		return (checked.ok && refuseElsewhere(this.#boundGateway(checked.token), credential)) || checked;
	}

	/** That of the token has precedence. */
	#boundGateway(token: VerifiedToken | undefined): BoundGateway | undefined {
		return token?.gateway ?? this.boundGateway();
	}

	/** The gateway that all requests of the account run in, if their tokens bind none. */
	boundGateway(): BoundGateway | undefined {
		return this.#isNew() ? undefined : this.#open().boundGateway.value;
	}

	setBoundGateway(gateway: BoundGateway | undefined): void {
		this.#open().boundGateway.set(gateway);
	}

	/** The account has never been used. An unknown token then creates no tables: without tables there are no tokens. */
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
		const isNew = this.#isNew();
		const ledger = new Ledger(storage, () => Date.now(), { isNew });
		this.#parts = {
			ledger,
			tokens: lazy(() => new Tokens(storage.sql, () => ledger.now(), { isNew })),
			aliases: lazy(() => new AliasTable(storage.sql)),
			boundGateway: new BoundGatewayTable(storage.sql),
		};
		return this.#parts;
	}

	/** Writes the counted refusals soon. */
	#scheduleWrite(ledger: Ledger): void {
		if (ledger.refusals.isPending) this.#wakeBy(Date.now() + WRITE_MS, ledger);
	}

	/**
	 * One alarm serves the next expiry of an open request or a lease, and the next write of refusals. Setting it is a write, which most
	 * admissions avoid.
	 */
	#wakeBy(time: number | undefined, ledger: Ledger): void {
		if (time === undefined) return;
		const lost = this.#alarmAt === undefined || this.#alarmAt + ALARM_LOST_MS < Date.now();
		if (lost) this.#wakeAt(Math.min(time, ledger.nextExpiry() ?? time));
		else if (this.#alarmAt !== undefined && time < this.#alarmAt) this.#wakeAt(time);
	}

	#wakeAt(time: number): void {
		this.#alarmAt = time;
		// Not awaited: the runtime holds the answer until all writes are on the disk, including this one.
		void this.ctx.storage.setAlarm(time);
	}
}
