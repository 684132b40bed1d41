/**
 * The Worker's side of the accounts' objects: one call admits a request, or all that came while the call before it was
 * under way, and takes along what settled since.
 *
 * What waits to be sent belongs to the isolate, not to a request; it is plain data. A request that is let in but whose
 * answer is lost on the way back is settled as failed, so that it does not hold its reservation until it expires.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import type {
	AccountLedger,
	Admission,
	Admitted,
	Ahead,
	CountedRequest,
	Credential,
	Granted,
	Ledgers,
	Permission,
	Settlement,
} from "../admission.ts";
import type { Account } from "../durable/account.ts";
import type { AccountRecords, AliasKeeper } from "../durable/account-records.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "../durable/limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "../durable/refusals.ts";
import type { RequestsPage, RequestsQuery } from "../durable/requests.ts";
import type { UsageQuery, UsageReport } from "../durable/usage.ts";
import type { TokenCommand, TokenKeeper, TokenResult } from "../token-command.ts";
import { AdmissionQueue } from "./admission-queue.ts";
import { AliasCache } from "./alias-cache.ts";
import { Leeway } from "./headroom-cache.ts";
import type { KnownAccounts } from "./known-accounts.ts";
import { neverServed } from "./never-served.ts";
import type { OpenObjects } from "./open-objects.ts";
import { Outbox, type OutboxWorld } from "./outbox.ts";

type Refused = Extract<Admitted, { ok: false }>;

export interface LedgersWorld extends OutboxWorld {
	namespace: DurableObjectNamespace<Account>;
	/** Only accounts that it knows have their objects opened. */
	known: KnownAccounts;
	/** Each open object holds files of the process. */
	open: OpenObjects;
	/** Tells the operator of settlements that could not be delivered yet. */
	log(error: AiError, requestId: string): void;
}

export interface Accounts extends Ledgers {
	of(account: string): AccountLedger & AccountRecords & AliasKeeper & TokenKeeper;
}

/** What an isolate keeps, of all accounts. */
interface Isolate extends LedgersWorld {
	/** Only of accounts that exist and have something to send. */
	outboxes: Map<string, Outbox>;
	/** Only of accounts that exist and are being asked. A queue holds requests under way, each for ten seconds at most. */
	queues: Map<string, AdmissionQueue>;
	leeway: Leeway;
	aliases: AliasCache;
}

export function createLedgers(world: LedgersWorld): Accounts {
	const isolate: Isolate = {
		...world,
		outboxes: new Map(),
		queues: new Map(),
		leeway: new Leeway(),
		aliases: new AliasCache(world.now),
	};
	return { of: (account) => new AccountSide(account, isolate) };
}

class AccountSide implements AccountLedger, AccountRecords, AliasKeeper, TokenKeeper {
	readonly #account: string;
	readonly #isolate: Isolate;

	constructor(account: string, isolate: Isolate) {
		this.#account = account;
		this.#isolate = isolate;
	}

	admit(admission: Admission): Promise<Granted> {
		const { known, open } = this.#isolate;
		// At once where nothing has to be waited for.
		if (known.isCached(this.#account) && open.mayCall(this.#account)) return this.#admit(admission);
		return this.#identify(admission.credential).then(() => this.#admit(admission));
	}

	#admit(admission: Admission): Promise<Granted> {
		const queue = this.#queue();
		const answer = queue.admit(admission, (admissions) => this.#admitAll(admissions));
		return this.#granted(admission, answer, queue);
	}

	ahead(admission: Admission): Ahead | undefined {
		const { leeway, now } = this.#isolate;
		const expected = leeway.take(this.#account, admission, now());
		if (!expected) return undefined;
		const queue = this.#queue();
		const { answer, needed } = queue.admitAhead(
			admission,
			(admissions) => this.#admitAll(admissions),
			() => leeway.release(this.#account),
		);
		const word = this.#granted(admission, answer, queue);
		// Nobody may be there to hear it.
		word.catch(() => {});
		return { expected, word, needed };
	}

	async #granted(admission: Admission, answer: Promise<Admitted>, queue: AdmissionQueue): Promise<Granted> {
		let admitted: Admitted;
		try {
			admitted = await answer;
		} catch (error) {
			this.settle(neverServed(admission));
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
		const { leeway, now, outboxes } = this.#isolate;
		const askedAt = now();
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
				if (answer) leeway.learn(this.#account, admission, answer, askedAt);
			}
			return admitted;
		} catch (error) {
			outbox?.release(settled);
			throw error;
		}
	}

	#queue(): AdmissionQueue {
		const known = this.#isolate.queues.get(this.#account);
		if (known) return known;
		const queue = new AdmissionQueue(this.#isolate);
		this.#isolate.queues.set(this.#account, queue);
		return queue;
	}

	settle(settlement: Settlement): void {
		this.#outbox().add(settlement);
	}

	async verify(credential: Credential, permission: Permission, request?: CountedRequest): Promise<void> {
		if (credential.kind === "operator" && !request) return;
		await this.#identify(credential);
		const verified = await this.#call(async (stub) => stub.verify(credential, permission, request));
		if (!verified.ok) throw refusal(verified);
	}

	async tokens(command: TokenCommand): Promise<TokenResult> {
		const credential: Credential =
			command.kind === "verify" ? { kind: "token", hash: command.hash } : command.maker;
		await this.#identify(credential);
		return this.#call(async (stub) => stub.tokens(command));
	}

	async aliases(credential: Credential): Promise<readonly AliasRow[]> {
		const { aliases } = this.#isolate;
		const known = aliases.get(this.#account);
		if (known) return known;
		await this.#identify(credential);
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
		await this.#identify(credential);
		try {
			return await this.#call(change);
		} finally {
			this.#isolate.aliases.forget(this.#account);
		}
	}

	async usage(query: UsageQuery): Promise<UsageReport> {
		await this.#identify(VERIFIED);
		return this.#call(async (stub) => stub.usage(query));
	}

	async refusals(query: RefusalsQuery): Promise<RefusalsReport> {
		await this.#identify(VERIFIED);
		return this.#call(async (stub) => stub.refusals(query));
	}

	async requests(query: RequestsQuery): Promise<RequestsPage> {
		await this.#identify(VERIFIED);
		return this.#call(async (stub) => stub.requests(query));
	}

	async standing(query: LimitStatusQuery): Promise<LimitStatus> {
		await this.#identify(query.credential);
		return this.#call(async (stub) => stub.standing(query));
	}

	/**
	 * Opens no object of an unknown account for a token, nor more objects than the process has files for. The operator's call
	 * records the account.
	 */
	async #identify(credential: Credential): Promise<void> {
		const { known, open } = this.#isolate;
		const account = this.#account;
		if (!known.isCached(account)) {
			let exists = true;
			try {
				if (credential.kind === "operator") await known.record(account);
				else exists = await known.exists(account);
			} catch (cause) {
				throw unavailable(cause);
			}
			if (!exists) throw new AiError("authentication");
		}
		if (!open.mayCall(account)) throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
	}

	/** A stub belongs to the request that got it, so each call gets its own. */
	async #call<T>(ask: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		const account = this.#account;
		const stub = this.#isolate.namespace.getByName(account);
		try {
			return await ask(stub);
		} catch (cause) {
			const error = unavailable(cause);
			error.place = { account, object: String(stub.id) };
			throw error;
		}
	}

	#outbox(): Outbox {
		const account = this.#account;
		const { outboxes } = this.#isolate;
		const known = outboxes.get(account);
		if (known) return known;
		const outbox = new Outbox(this.#isolate, {
			send: (batch) => {
				this.#isolate.open.note(account);
				return this.#call(async (stub) => stub.settle(batch));
			},
			gaveUp: (error, [first]) => this.#isolate.log(toAiError(error), first?.ticket ?? ""),
			idle: () => {
				// A flush that was taken for lost may come to its end beside a newer outbox.
				if (outboxes.get(account) === outbox) outboxes.delete(account);
			},
		});
		outboxes.set(account, outbox);
		return outbox;
	}
}

/** Other accounts' objects close when they have been idle for ten seconds. */
const BUSY_SECONDS = 5;
/** The caller was verified before: its account is known, or it is the operator. */
const VERIFIED: Credential = { kind: "operator" };

const unavailable = (cause: unknown): AiError => new AiError("ledgerUnavailable", undefined, { cause });

export const refusal = ({ failure, description, ...more }: Refused): AiError =>
	new AiError(failure, description, more.retryAfter === undefined ? {} : { retryAfter: more.retryAfter });
