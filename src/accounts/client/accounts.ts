/**
 * The Worker's client of the `Account` objects. One call admits a request, or all requests that arrived while the previous call
 * was under way, and carries the settlements since then.
 *
 * Unsent settlements belong to the isolate, not to a request, and are plain data. If the answer to an admission is lost, the
 * admission is settled as failed: otherwise its reservation would be held until it expires, and then be charged.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { type Flushes, FlushSchedule, type FlushWork } from "../../core/flush-schedule.ts";
import { FreshCache } from "../../core/fresh-cache.ts";
import { objectUnavailable } from "../../core/object-failure.ts";
import type {
	AccountLedger,
	Admission,
	AdmissionGrant,
	Admitted,
	Credential,
	DurableLedger,
	JournalAnswer,
	JournalBatch,
	Settlement,
} from "../admission.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import { LEASE_MS } from "../lease.ts";
import type { TokenCommand, TokenResult, TokenStore } from "../token-command.ts";
import type { AccountObjectServices } from "./account-object.ts";
import { AccountReader, refusal } from "./account-reader.ts";
import { AccountShards } from "./account-shards.ts";
import { BatchQueue } from "./batch-queue.ts";
import { Journal, type JournalOwner } from "./journal.ts";
import { KnownCredentials } from "./known-credentials.ts";
import { classKey, type JournalPace, journalPace } from "./lease-demand.ts";
import type { IsolateAccounts, LedgersServices } from "./ledgers-services.ts";
import { failedSettlement, Outbox } from "./outbox.ts";
import { RecentClasses } from "./recent-classes.ts";

/** A change of an alias in another isolate takes effect within this time. Milliseconds. */
const ALIASES_FRESH_MS = 10_000;

/** The state of an isolate, for all accounts. */
interface IsolateState extends LedgersServices, AccountObjectServices {
	/** Requests that are still open are reported soon. */
	isClosing?: boolean;
	/** Only for accounts that exist and have settlements to send. */
	outboxes: Map<string, Outbox>;
	/** Only for accounts that exist and use leases. */
	journals: Map<string, Journal>;
	/** Only for accounts that exist and have admissions under way, each for ten seconds at most. */
	queues: Map<string, BatchQueue<Admission, Admitted>>;
	aliases: FreshCache<readonly AliasRow[]>;
	credentials: KnownCredentials;
	/** Of all accounts in shards. */
	flushes: FlushSchedule;
	/** Of the requests that were admitted without a lease. */
	recent: RecentClasses;
	/** By account: flushes that have given up since its object answered. Only for accounts that exist and whose object cannot be reached. */
	outages: Map<string, number>;
}

export function createLedgers(services: LedgersServices): IsolateAccounts {
	const journals: IsolateState["journals"] = new Map();
	const isolate: IsolateState = {
		...services,
		accountShards: new AccountShards({
			...services,
			waitUntil: services.keepAlive ?? services.waitUntil,
			onChanged: (accounts) => {
				for (const account of accounts === "all" ? journals.keys() : accounts)
					journals.get(account)?.recordChange();
			},
		}),
		outboxes: new Map(),
		journals,
		queues: new Map(),
		aliases: new FreshCache({ now: services.now, freshMs: ALIASES_FRESH_MS }),
		credentials: new KnownCredentials(services),
		flushes: new FlushSchedule(services),
		recent: new RecentClasses(services),
		outages: new Map(),
	};
	const of = (account: string): AccountClient => new AccountClient(account, isolate);
	const flush = async (): Promise<void> => {
		const accounts = new Set([...isolate.journals.keys(), ...isolate.outboxes.keys()]);
		isolate.isClosing = true;
		await Promise.all([...accounts].map((account) => of(account).flush()));
		for (const journal of isolate.journals.values()) journal.stop();
	};
	const forget = (account: string): void => {
		journals.get(account)?.stop();
		journals.delete(account);
		isolate.outboxes.delete(account);
		isolate.aliases.delete(account);
		isolate.outages.delete(account);
	};
	return { of, flush, forget };
}

class AccountClient
	extends AccountReader<IsolateState>
	implements AccountLedger, DurableLedger, TokenStore, JournalOwner
{
	admitFromLease(admission: Admission): AdmissionGrant | undefined {
		return this.object.isDeleted ? undefined : this.services.journals.get(this.account)?.admit(admission);
	}

	async admit(admission: Admission): Promise<AdmissionGrant> {
		// Without an `await` if the directory's answer is cached.
		if (!this.object.mayCall) await this.object.check(admission.credential);
		const { credentials, now, queues, wait, waitUntil, keepAlive = waitUntil } = this.services;
		const queue = queues.get(this.account) ?? new BatchQueue({ now, wait, waitUntil: keepAlive });
		queues.set(this.account, queue);
		let admitted: Admitted;
		try {
			admitted = await queue.add(admission, (admissions) => this.#admitAll(admissions));
		} catch (error) {
			this.settle(failedSettlement(admission));
			throw error instanceof AiError ? error : objectUnavailable(error);
		} finally {
			if (queue.isIdle) deleteIfSame(queues, this.account, queue);
		}
		if (!admitted.ok) {
			credentials.setGateway(this.account, admission.credential, admitted.gateway?.id);
			throw refusal(admitted);
		}
		const { limited, outputTokens } = admitted;
		return { ...(limited && { limited }), ...(outputTokens !== undefined && { outputTokens }) };
	}

	/** Admits from leases that only have to be checked first. Other requests are admitted by the object. */
	async #admitAll(admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		const journal = this.services.journals.get(this.account);
		// There are no leases, neither to check nor to return.
		if (!journal) return this.#callAdmit(admissions);
		const checks = journal.leasesToCheck(admissions);
		if (checks.size === 0) return this.#admitByObject(admissions);
		const calledAt = this.services.now();
		const answers = await this.object.call("checkLeases", [...checks.values()]);
		journal.recordChecks(checks, answers, calledAt);
		const leased = admissions.map((admission) => journal.admit(admission));
		const others = admissions.filter((_, i) => !leased[i]);
		const admitted = others.length > 0 ? [...(await this.#admitByObject(others))] : [];
		return leased.flatMap((granted) => (granted ? { ok: true, ...granted } : (admitted.shift() ?? [])));
	}

	/** Refused requests are sent again after this isolate has returned its leases, which may hold the remaining part of a limit. */
	async #admitByObject(admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		if (!this.services.journals.get(this.account)?.mayFreeRoom) return this.#callAdmit(admissions);
		const answers = await this.#callAdmit(admissions.map((each) => ({ ...each, provisional: true })));
		const refused = admissions.filter((_, i) => answers[i]?.ok === false);
		if (refused.length === 0) return answers;
		await this.flush();
		const again = [...(await this.#callAdmit(refused))];
		return answers.map((answer) => (answer.ok ? answer : (again.shift() ?? answer)));
	}

	async #callAdmit(admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		const outbox = this.services.outboxes.get(this.account);
		const settled = outbox?.take() ?? [];
		const sent: Admission[] = [];
		for (const admission of admissions) {
			const lease = this.#usesLease(admission) ? this.#journal().requestLease(admission) : undefined;
			sent.push(lease ? { ...admission, lease } : admission);
		}
		const journal = this.services.journals.get(this.account);
		try {
			const admitted = await this.object.call("admitAll", sent, settled);
			outbox?.confirm(settled);
			this.#recordAnswer();
			for (const [i, admission] of sent.entries()) {
				const answer = admitted[i];
				const lease = answer?.ok ? answer.lease : undefined;
				if (admission.lease) journal?.addLease(admission, admission.lease, lease);
				if (lease) journal?.addOpen(admission);
			}
			return admitted;
		} catch (error) {
			outbox?.release(settled);
			for (const admission of sent) if (admission.lease) journal?.leaseFailed(admission, admission.lease);
			throw error;
		}
	}

	/**
	 * With few accounts, each request that the object admits requests a lease for the next ones. With many, a lease that no second request
	 * uses costs more than it saves, so only a request that soon follows another one requests it.
	 */
	#usesLease(admission: Admission): boolean {
		const { exact, recent } = this.services;
		if (exact) return false;
		const { leaseMs, soonMs } = this.pace();
		return leaseMs === LEASE_MS || recent.record(`${this.account}\n${classKey(admission)}`, soonMs);
	}

	admitByObject(credential: Credential, admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		return this.object.checkedCall(credential, "admitAll", admissions, []);
	}

	async settleNow(settlements: readonly Settlement[]): Promise<void> {
		await this.object.report("settle", settlements);
		this.#recordAnswer();
	}

	settle(settlement: Settlement): void {
		const journal = this.services.journals.get(this.account);
		if (!this.object.isDeleted && !journal?.settle(settlement)) this.#outbox().add(settlement);
	}

	tokens(command: TokenCommand): Promise<TokenResult> {
		const credential: Credential =
			command.kind === "verify" ? { kind: "token", hash: command.hash } : command.maker;
		return this.object.checkedCall(credential, "tokens", command);
	}

	/**
	 * Reports the requests of this isolate, so that a reader sees its own. Never rejects: after a failure they are reported later, and
	 * the reader sees those that the object has.
	 */
	async flush(): Promise<void> {
		const { journals, outboxes } = this.services;
		await Promise.allSettled([journals.get(this.account)?.flush(), outboxes.get(this.account)?.flush()]);
	}

	#outbox(): Outbox {
		const { exact, outboxes } = this.services;
		const existing = outboxes.get(this.account);
		if (existing) return existing;
		const created = new Outbox(this.services, {
			send: (batch) => this.settleNow(batch),
			onGiveUp: (error, [first]) => this.#logUnsent(error, first),
			flushesOf: (work) => this.flushesOf(work),
			gridMs: exact ? undefined : this.pace().gridMs,
			idle: () => deleteIfSame(outboxes, this.account, created),
		});
		outboxes.set(this.account, created);
		return created;
	}

	#journal(): Journal {
		const { journals } = this.services;
		const journal = journals.get(this.account) ?? new Journal(this.services, this);
		journals.set(this.account, journal);
		return journal;
	}

	async sendJournal(batch: JournalBatch): Promise<JournalAnswer> {
		const answer = await this.object.report("journal", batch);
		this.#recordAnswer();
		return answer;
	}

	journalFailed(error: unknown, batch: JournalBatch | undefined): void {
		this.#logUnsent(error, batch?.requests[0]);
	}

	flushesOf(work: FlushWork): Flushes {
		const schedule = this.object.isInShard ? this.services.flushes : new FlushSchedule(this.services);
		return schedule.flushesOf(work);
	}

	pace(): JournalPace {
		const { isClosing, isOnlyProcess = false, journals, longLeases = false } = this.services;
		if (isClosing) return journalPace(0);
		return journalPace(journals.size, { inShard: this.object.isInShard, isOnlyProcess, longLeases });
	}

	confirmedAt(): number {
		return this.object.confirmedAt;
	}

	journalIdle(journal: Journal): void {
		deleteIfSame(this.services.journals, this.account, journal);
	}

	/** Further flushes begin while there is something to send. Only the first that gives up is an error in the log. */
	#logUnsent(error: unknown, first: { ticket: string } | undefined): void {
		if (this.object.isDeleted) return;
		const { log, outages } = this.services;
		const before = outages.get(this.account) ?? 0;
		outages.set(this.account, before + 1);
		if (before === 0) log(toAiError(error), first?.ticket ?? "");
	}

	#recordAnswer(): void {
		const { outages } = this.services;
		const givenUp = outages.get(this.account);
		if (givenUp === undefined) return;
		outages.delete(this.account);
		const message = "The object of an account is reached again";
		console.error(JSON.stringify({ message, account: this.account, failed_flushes: givenUp }));
	}
}

/** Another value may have replaced it: a flush that was considered lost may end later. */
function deleteIfSame<T>(all: Map<string, T>, account: string, value: T): void {
	if (all.get(account) === value) all.delete(account);
}
