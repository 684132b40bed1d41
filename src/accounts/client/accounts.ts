/**
 * The Worker's client of the `Account` objects. One call admits a request, or all requests that arrived while the previous call
 * was under way, and carries the settlements since then.
 *
 * Unsent settlements belong to the isolate, not to a request, and are plain data. If the answer to an admission is lost, the
 * admission is settled as failed: otherwise its reservation would be held until it expires, and then be charged.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import type {
	AccountLedger,
	Admission,
	Admitted,
	CountedRequest,
	Credential,
	Granted,
	Ledgers,
	Permission,
	Settlement,
	SpeculativeAdmission,
} from "../admission.ts";
import type { Account } from "../durable/account.ts";
import type { AccountReports, AliasStore } from "../durable/account-interfaces.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "../durable/limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "../durable/refusals.ts";
import type { RequestsPage, RequestsQuery } from "../durable/requests.ts";
import type { UsageQuery, UsageReport } from "../durable/usage.ts";
import type { TokenCommand, TokenResult, TokenStore } from "../token-command.ts";
import { AdmissionQueue } from "./admission-queue.ts";
import { AliasCache } from "./alias-cache.ts";
import type { DirectoryCache } from "./directory-cache.ts";
import { failedSettlement } from "./failed-settlement.ts";
import { HeadroomCache } from "./headroom-cache.ts";
import type { OpenObjects } from "./open-objects.ts";
import { Outbox, type OutboxWorld } from "./outbox.ts";

type Refused = Extract<Admitted, { ok: false }>;

export interface LedgersWorld extends OutboxWorld {
	namespace: DurableObjectNamespace<Account>;
	/** Only accounts in the directory have their objects opened. */
	directory: DirectoryCache;
	/** Each open object holds files of the process. */
	openObjects: OpenObjects;
	/**
	 * Keeps the context of a request alive while its admission waits. It is not background work of its own, because the exchange
	 * of the request counts as such. Absent: `waitUntil`.
	 */
	keepAlive?(promise: Promise<unknown>): void;
	/** Logs settlements that could not be delivered yet. */
	log(error: AiError, requestId: string): void;
}

export interface Accounts extends Ledgers {
	of(account: string): AccountLedger & AccountReports & AliasStore & TokenStore;
}

/** The state of an isolate, for all accounts. */
interface IsolateState extends LedgersWorld {
	/** Only for accounts that exist and have settlements to send. */
	outboxes: Map<string, Outbox>;
	/** Only for accounts that exist and have admissions under way, each for ten seconds at most. */
	queues: Map<string, AdmissionQueue>;
	headroom: HeadroomCache;
	aliases: AliasCache;
}

export function createLedgers(world: LedgersWorld): Accounts {
	const isolate: IsolateState = {
		...world,
		outboxes: new Map(),
		queues: new Map(),
		headroom: new HeadroomCache(),
		aliases: new AliasCache(world.now),
	};
	return { of: (account) => new AccountClient(account, isolate) };
}

class AccountClient implements AccountLedger, AccountReports, AliasStore, TokenStore {
	readonly #account: string;
	readonly #isolate: IsolateState;

	constructor(account: string, isolate: IsolateState) {
		this.#account = account;
		this.#isolate = isolate;
	}

	admit(admission: Admission): Promise<Granted> {
		const { directory, openObjects } = this.#isolate;
		// Without an `await` if the directory's answer is cached.
		if (directory.isCached(this.#account) && openObjects.mayCall(this.#account))
			return this.#admit(admission);
		return this.#checkAccount(admission.credential).then(() => this.#admit(admission));
	}

	#admit(admission: Admission): Promise<Granted> {
		const queue = this.#queue();
		const answer = queue.admit(admission, (admissions) => this.#admitAll(admissions));
		return this.#granted(admission, answer, queue);
	}

	speculate(admission: Admission): SpeculativeAdmission | undefined {
		const { headroom, now } = this.#isolate;
		const expected = headroom.reserve(this.#account, admission, now());
		if (!expected) return undefined;
		const queue = this.#queue();
		const { answer, requireDecision } = queue.admitSpeculatively(
			admission,
			(admissions) => this.#admitAll(admissions),
			() => headroom.release(this.#account),
		);
		const decision = this.#granted(admission, answer, queue);
		// The request may end without waiting for the decision.
		decision.catch(() => {});
		return { expected, decision, requireDecision };
	}

	async #granted(admission: Admission, answer: Promise<Admitted>, queue: AdmissionQueue): Promise<Granted> {
		let admitted: Admitted;
		try {
			admitted = await answer;
		} catch (error) {
			this.settle(failedSettlement(admission));
			throw error instanceof AiError ? error : unavailable(error);
		} finally {
			const { queues } = this.#isolate;
			if (queue.isIdle && queues.get(this.#account) === queue) queues.delete(this.#account);
		}
		if (!admitted.ok) throw refusal(admitted);
		const { ok: _, remaining: __, ...granted } = admitted;
		return granted;
	}

	async #admitAll(admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		const { headroom, now, outboxes } = this.#isolate;
		const calledAt = now();
		const outbox = outboxes.get(this.#account);
		const settled = outbox?.take() ?? [];
		try {
			const admitted = await this.#call(async (stub): Promise<readonly Admitted[]> => {
				const [first, second] = admissions;
				return first && !second ? [await stub.admit(first, settled)] : stub.admitAll(admissions, settled);
			});
			outbox?.confirm(settled);
			for (const [i, admission] of admissions.entries()) {
				const answer = admitted[i];
				if (answer) headroom.record(this.#account, admission, answer, calledAt);
			}
			return admitted;
		} catch (error) {
			outbox?.release(settled);
			throw error;
		}
	}

	#queue(): AdmissionQueue {
		const existing = this.#isolate.queues.get(this.#account);
		if (existing) return existing;
		const { keepAlive, ...world } = this.#isolate;
		const queue = new AdmissionQueue({ ...world, waitUntil: keepAlive ?? world.waitUntil });
		this.#isolate.queues.set(this.#account, queue);
		return queue;
	}

	settle(settlement: Settlement): void {
		this.#outbox().add(settlement);
	}

	async verify(credential: Credential, permission: Permission, request?: CountedRequest): Promise<void> {
		if (credential.kind === "operator" && !request) return;
		await this.#checkAccount(credential);
		const verified = await this.#call(async (stub) => stub.verify(credential, permission, request));
		if (!verified.ok) throw refusal(verified);
	}

	async tokens(command: TokenCommand): Promise<TokenResult> {
		const credential: Credential =
			command.kind === "verify" ? { kind: "token", hash: command.hash } : command.maker;
		await this.#checkAccount(credential);
		return this.#call(async (stub) => stub.tokens(command));
	}

	async aliases(credential: Credential): Promise<readonly AliasRow[]> {
		const { aliases } = this.#isolate;
		const cached = aliases.get(this.#account);
		if (cached) return cached;
		await this.#checkAccount(credential);
		const rows = await this.#call(async (stub) => stub.aliases());
		aliases.set(this.#account, rows);
		return rows;
	}

	setAlias(credential: Credential, row: AliasRow): Promise<boolean> {
		return this.#changeAliases(credential, async (stub) => stub.setAlias(row));
	}

	deleteAlias(credential: Credential, alias: string): Promise<boolean> {
		return this.#changeAliases(credential, async (stub) => stub.deleteAlias(alias));
	}

	async #changeAliases(
		credential: Credential,
		change: (stub: DurableObjectStub<Account>) => Promise<boolean>,
	): Promise<boolean> {
		await this.#checkAccount(credential);
		try {
			return await this.#call(change);
		} finally {
			this.#isolate.aliases.delete(this.#account);
		}
	}

	async usage(query: UsageQuery): Promise<UsageReport> {
		await this.#checkAccount(VERIFIED);
		return this.#call(async (stub) => stub.usage(query));
	}

	async refusals(query: RefusalsQuery): Promise<RefusalsReport> {
		await this.#checkAccount(VERIFIED);
		return this.#call(async (stub) => stub.refusals(query));
	}

	async requests(query: RequestsQuery): Promise<RequestsPage> {
		await this.#checkAccount(VERIFIED);
		return this.#call(async (stub) => stub.requests(query));
	}

	async limitStatus(query: LimitStatusQuery): Promise<LimitStatus> {
		await this.#checkAccount(query.credential);
		return this.#call(async (stub) => stub.limitStatus(query));
	}

	/**
	 * Checks that the account's object may be called: a token never opens the object of an account that does not exist, and the
	 * process has files for a limited number of open objects. A call of the operator records the account.
	 */
	async #checkAccount(credential: Credential): Promise<void> {
		const { directory, openObjects } = this.#isolate;
		const account = this.#account;
		if (!directory.isCached(account)) {
			let exists = true;
			try {
				if (credential.kind === "operator") await directory.record(account);
				else exists = await directory.exists(account);
			} catch (cause) {
				throw unavailable(cause);
			}
			if (!exists) throw new AiError("authentication");
		}
		if (!openObjects.mayCall(account))
			throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
	}

	/** A stub belongs to the request that created it, so each call creates its own. */
	async #call<T>(method: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		const account = this.#account;
		const stub = this.#isolate.namespace.getByName(account);
		try {
			return await method(stub);
		} catch (cause) {
			const error = unavailable(cause);
			error.place = { account, object: String(stub.id) };
			throw error;
		}
	}

	#outbox(): Outbox {
		const account = this.#account;
		const { outboxes } = this.#isolate;
		const existing = outboxes.get(account);
		if (existing) return existing;
		const outbox = new Outbox(this.#isolate, {
			send: (batch) => {
				this.#isolate.openObjects.recordCall(account);
				return this.#call(async (stub) => stub.settle(batch));
			},
			givenUp: (error, [first]) => this.#isolate.log(toAiError(error), first?.ticket ?? ""),
			idle: () => {
				// A flush that was considered lost may end after a newer outbox was created.
				if (outboxes.get(account) === outbox) outboxes.delete(account);
			},
		});
		outboxes.set(account, outbox);
		return outbox;
	}
}

/** Objects of other accounts close after ten idle seconds. */
const BUSY_SECONDS = 5;
/** The route has verified the caller. Its account exists, or the caller is the operator. */
const VERIFIED: Credential = { kind: "operator" };

const unavailable = (cause: unknown): AiError => new AiError("ledgerUnavailable", undefined, { cause });

export const refusal = ({ failure, description, retryAfter }: Refused): AiError =>
	new AiError(failure, description, retryAfter === undefined ? {} : { retryAfter });
