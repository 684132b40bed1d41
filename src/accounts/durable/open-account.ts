/**
 * An account in the memory of its object: tokens, limits and ledger. Every method is one short synchronous step, so two requests
 * never share the same remaining budget.
 *
 * Methods do not check whether the caller may read usage: the Worker has done that with `verify`.
 */
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
import { AccountSettings } from "./account-settings.ts";
import { BoundGatewayTable } from "./bound-gateway-table.ts";
import type { CancelledTickets } from "./cancelled-tickets.ts";
import type { VerifiedToken } from "./decision.ts";
import { type AlarmPlace, DueTimes } from "./due-times.ts";
import { Ledger, type PendingAdmission } from "./ledger.ts";
import type { LimitStatus, LimitStatusQuery } from "./limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "./refusals.ts";
import type { RequestRecord } from "./request-rows.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import type { AccountStorage } from "./row-table.ts";
import { type Refusal, Tokens } from "./tokens.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";

/** The object of the account. */
export interface AccountPlace extends AlarmPlace {
	/** Of all accounts of the object. */
	readonly cancelled: CancelledTickets;
	/** The account's rows, if it has any. */
	readonly existing: AccountStorage | undefined;
	/** Records an account without rows. */
	record(): AccountStorage;
}

type Verified = ({ ok: true } & VerifiedCredential) | Extract<Admitted, { ok: false }>;

interface Parts {
	storage: AccountStorage;
	isNew: boolean;
	ledger: Ledger;
	boundGateway: BoundGatewayTable;
	/** Opened by their first use, because an account of the operator may have none. */
	tokens?: Tokens;
}

type Checked = { ok: true; token?: VerifiedToken } | Refusal;
type CheckedRun = Checked | GatewayRefusal;

const UNKNOWN: Refusal = { ok: false, failure: "authentication" };
/** The answer to a cancelled ticket. No request waits for it. */
const CANCELLED: Refusal = { ok: false, failure: "ledgerUnavailable" };

const now = (): number => Date.now();

export class OpenAccount extends AccountSettings {
	readonly #place: AccountPlace;
	readonly #due: DueTimes;
	#parts: Parts | undefined;

	constructor(place: AccountPlace) {
		super();
		this.#place = place;
		this.#due = new DueTimes(place);
	}

	/** Books the settlements first, also if requests are refused. Decides in order, with all writes in one transaction. */
	admitAll(admissions: readonly Admission[], settled: readonly Settlement[]): Admitted[] {
		if (settled.length > 0) this.#settle(settled);
		const answers: Admitted[] = [];
		const pending: (PendingAdmission & { position: number })[] = [];
		for (const [position, admission] of admissions.entries()) {
			const checked = this.#place.cancelled.has(admission.ticket)
				? CANCELLED
				: this.#checkRun(admission.credential);
			if (checked.ok) pending.push({ position, admission, token: checked.token });
			else answers[position] = checked;
		}
		if (pending.length === 0) return answers;
		return this.#step((ledger) => {
			const admitted = ledger.admitAll(pending);
			let wakeAt = Number.POSITIVE_INFINITY;
			for (const [i, { position, admission }] of pending.entries()) {
				const answer = admitted[i] ?? CANCELLED;
				answers[position] = answer;
				if (!answer.ok) continue;
				wakeAt = Math.min(wakeAt, ledger.expiryOf(admission.ticket) ?? wakeAt);
				if (answer.lease) wakeAt = Math.min(wakeAt, ledger.nextLeaseExpiry());
			}
			this.#due.wakeBy(wakeAt, ledger);
			return answers;
		});
	}

	/** Books the requests that an isolate admitted from leases, then grants the next leases. A copy of the batch gets the same leases. */
	journal(batch: JournalBatch): JournalAnswer {
		return this.#step((ledger) => {
			const copy = ledger.book(batch);
			// The isolate no longer knows the leases of an older batch.
			if (copy === "older") return [];
			const granted: JournalAnswer = [];
			for (const renewal of batch.renewals) {
				const checked = this.#checkRun(renewal.credential);
				const lease = checked.ok ? ledger.grantLease(renewal, checked.token, copy) : undefined;
				granted.push(lease);
			}
			this.#due.wakeBy(ledger.nextLeaseExpiry(), ledger);
			this.#due.rest(ledger);
			return granted;
		});
	}

	/** Whether each credential may still use its leases, with the limits that it had at their grants. Writes nothing. */
	checkLeases(checks: readonly LeaseCheck[]): boolean[] {
		return checks.map(({ credential, leases }) => {
			const checked = this.#checkRun(credential);
			return checked.ok && !this.isNew && this.#open().ledger.areLeasesCurrent(leases, checked.token);
		});
	}

	settle(settled: readonly Settlement[]): void {
		const ledger = this.#settle(settled);
		if (ledger) this.#due.rest(ledger);
	}

	/** Counts `request` if the credential is valid. */
	verify(credential: Credential, permission: Permission, request?: CountedRequest): Verified {
		const checked = request ? this.#checkRun(credential, permission) : this.#check(credential, permission);
		if (!checked.ok) return checked;
		const { token } = checked;
		const gateway = token?.gateway ?? this.boundGateway();
		const verified = { ok: true as const, ...(token && { token: token.id }), ...(gateway && { gateway }) };
		if (!request?.rates.length) return verified;
		return this.#step((ledger) => {
			const counted = ledger.count(request, token);
			this.#due.wakeBy(Number.POSITIVE_INFINITY, ledger);
			return counted.ok ? verified : counted;
		});
	}

	tokens(command: TokenCommand): TokenResult {
		const byToken = command.kind === "verify" || command.maker.kind === "token";
		return byToken && this.isNew ? UNKNOWN : this.#tokens().run(command, this.boundGateway());
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
		return this.isNew ? undefined : this.#step((ledger) => ledger.forgiveLease(id));
	}

	/** For an invalid token: the account's limits without the token's own. */
	limitStatus(query: LimitStatusQuery): LimitStatus {
		const { credential } = query;
		const checked = query.request ? this.#checkRun(credential) : this.#check(credential, "run");
		const { ledger } = this.#open();
		const all = query.allTokens ? this.#tokens().withBudget(credential) : undefined;
		const status = ledger.limitStatus(query, checked.ok ? checked.token : undefined, all);
		return checked.ok || !query.request ? status : { ...status, answer: checked };
	}

	/** The gateway that all requests of the account run in, if their tokens bind none: that of a token has precedence. */
	boundGateway(): BoundGateway | undefined {
		return this.isNew ? undefined : this.#open().boundGateway.value;
	}

	setBoundGateway(gateway: BoundGateway | undefined): void {
		this.#open().boundGateway.set(gateway);
	}

	/** Does what is due. */
	wake(): void {
		this.#step((ledger) => {
			ledger.expire();
			this.#due.swept(ledger, ledger.sweep());
		});
	}

	override openAll(): void {
		this.#tokens();
		super.openAll();
	}

	/** Writes what is only in memory. */
	close(): void {
		this.#parts?.ledger.refusals.write();
	}

	#settle(settled: readonly Settlement[]): Ledger | undefined {
		const ledger = this.isNew ? undefined : this.#open().ledger;
		for (const { outcome, ticket } of settled)
			if (outcome === "failed" && ledger?.expiryOf(ticket) === undefined)
				this.#place.cancelled.add(ticket, Date.now());
		if (ledger) this.#step(() => ledger.settle(settled));
		return ledger;
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
		if (this.isNew) return UNKNOWN;
		const checked = this.#tokens().check(credential.hash, permission);
		if (!checked.ok) return checked;
		const description =
			permission === "gateways-write" ? changeRefusal(checked.gateway ?? this.boundGateway()) : undefined;
		if (description !== undefined) return { ok: false, failure: "gatewayRequired", description };
		return { ok: true, token: checked };
	}

	/** As {@link #check}, for a request: it must run in the gateway that its token or the account binds. */
	#checkRun(credential: Credential, permission: Permission = "run"): CheckedRun {
		const checked = this.#check(credential, permission);
		return (
			(checked.ok && refuseElsewhere(checked.token?.gateway ?? this.boundGateway(), credential)) || checked
		);
	}

	/** The account has never been used. An unknown token then creates no rows: without rows there are no tokens. */
	protected override get isNew(): boolean {
		return !this.#parts && !this.#place.existing;
	}

	#open(): Parts {
		if (this.#parts) return this.#parts;
		const { existing } = this.#place;
		const storage = existing ?? this.#place.record();
		const isNew = !existing;
		this.#parts = {
			...{ storage, isNew },
			ledger: new Ledger(storage, now, { isNew }),
			boundGateway: new BoundGatewayTable(storage),
		};
		return this.#parts;
	}

	#tokens(): Tokens {
		const parts = this.#open();
		parts.tokens ??= new Tokens(parts.storage, parts.ledger, { isNew: parts.isNew });
		return parts.tokens;
	}

	protected override storage(): AccountStorage {
		return this.#open().storage;
	}
}
