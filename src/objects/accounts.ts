/**
 * The Worker's side of the accounts' objects: one call admits a request, or all that came while the call before it was
 * under way, and takes along what settled since.
 *
 * What waits to be sent belongs to the isolate, not to a request; it is plain data. A request that is let in but whose
 * answer is lost on the way back is settled as failed, so that it does not hold its reservation until it expires.
 */
import { AiError, FAILURES, toAiError } from "../errors.ts";
import type { Account } from "./account.ts";
import type {
	AccountLedger,
	Admission,
	Admitted,
	Credential,
	Ledgers,
	Permission,
	Settlement,
} from "./admission.ts";
import { AdmissionQueue } from "./admission-queue.ts";
import { Outbox, type OutboxWorld } from "./outbox.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import type { Standing, StandingQuery } from "./standing.ts";
import type { TokenCommand, TokenKeeper, TokenResult } from "./token-command.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";

type Refused = Extract<Admitted, { ok: false }>;

export interface LedgersWorld extends OutboxWorld {
	namespace: DurableObjectNamespace<Account>;
	/** Tells the operator of settlements that could not be delivered yet. */
	log(error: AiError, requestId: string): void;
}

/** What an account knows of its past. Who may ask was verified. Each throws `AiError` where the object cannot be asked. */
export interface AccountRecords {
	usage(query: UsageQuery): Promise<UsageReport>;
	requests(query: RequestsQuery): Promise<RequestsPage>;
	standing(query: StandingQuery): Promise<Standing>;
}

export interface Accounts extends Ledgers {
	of(account: string): AccountLedger & AccountRecords & TokenKeeper;
}

export function createLedgers(world: LedgersWorld): Accounts {
	/** Only of accounts that have something to send. */
	const outboxes = new Map<string, Outbox>();
	/** Only of accounts that are being asked. */
	const queues = new Map<string, AdmissionQueue>();
	return { of: (account) => new AccountSide(account, world, outboxes, queues) };
}

class AccountSide implements AccountLedger, AccountRecords, TokenKeeper {
	readonly #account: string;
	readonly #world: LedgersWorld;
	readonly #outboxes: Map<string, Outbox>;
	readonly #queues: Map<string, AdmissionQueue>;

	constructor(
		account: string,
		world: LedgersWorld,
		outboxes: Map<string, Outbox>,
		queues: Map<string, AdmissionQueue>,
	) {
		this.#account = account;
		this.#world = world;
		this.#outboxes = outboxes;
		this.#queues = queues;
	}

	async admit(admission: Admission): ReturnType<AccountLedger["admit"]> {
		const queue = this.#queue();
		let admitted: Admitted;
		try {
			admitted = await queue.admit(admission, (admissions) => this.#admitAll(admissions));
		} catch (error) {
			this.settle(neverServed(admission));
			throw error instanceof AiError ? error : unavailable(error);
		} finally {
			if (queue.isIdle) this.#queues.delete(this.#account);
		}
		if (!admitted.ok) throw refusal(admitted);
		const { ok: _, ...granted } = admitted;
		return granted;
	}

	async #admitAll(admissions: readonly Admission[]): Promise<readonly Admitted[]> {
		const outbox = this.#outboxes.get(this.#account);
		const settled = outbox?.take() ?? [];
		try {
			const admitted = await this.#call(async (stub): Promise<readonly Admitted[]> => {
				const [first, second] = admissions;
				return first && !second ? [await stub.admit(first, settled)] : stub.admitAll(admissions, settled);
			});
			outbox?.confirm(settled);
			return admitted;
		} catch (error) {
			outbox?.release(settled);
			throw error;
		}
	}

	#queue(): AdmissionQueue {
		const known = this.#queues.get(this.#account);
		if (known) return known;
		const queue = new AdmissionQueue(this.#world);
		this.#queues.set(this.#account, queue);
		return queue;
	}

	settle(settlement: Settlement): void {
		this.#outbox().add(settlement);
	}

	async verify(credential: Credential, permission: Permission): Promise<void> {
		if (credential.kind === "operator") return;
		const verified = await this.#call(async (stub) => stub.verify(credential, permission));
		if (!verified.ok) throw refusal(verified);
	}

	tokens(command: TokenCommand): Promise<TokenResult> {
		return this.#call(async (stub) => stub.tokens(command));
	}

	usage(query: UsageQuery): Promise<UsageReport> {
		return this.#call(async (stub) => stub.usage(query));
	}

	requests(query: RequestsQuery): Promise<RequestsPage> {
		return this.#call(async (stub) => stub.requests(query));
	}

	standing(query: StandingQuery): Promise<Standing> {
		return this.#call(async (stub) => stub.standing(query));
	}

	/** A stub belongs to the request that got it, so each call gets its own. */
	async #call<T>(ask: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		try {
			return await ask(this.#world.namespace.getByName(this.#account));
		} catch (cause) {
			throw unavailable(cause);
		}
	}

	#outbox(): Outbox {
		const account = this.#account;
		const known = this.#outboxes.get(account);
		if (known) return known;
		const outbox = new Outbox(this.#world, {
			send: (batch) => this.#call(async (stub) => stub.settle(batch)),
			gaveUp: (error, [first]) => this.#world.log(toAiError(error), first?.ticket ?? ""),
			idle: () => {
				// A flush that was taken for lost may come to its end beside a newer outbox.
				if (this.#outboxes.get(account) === outbox) this.#outboxes.delete(account);
			},
		});
		this.#outboxes.set(account, outbox);
		return outbox;
	}
}

const unavailable = (cause: unknown): AiError => new AiError("ledgerUnavailable", undefined, { cause });

export const refusal = ({ failure, description, ...more }: Refused): AiError =>
	new AiError(failure, description, more.retryAfter === undefined ? {} : { retryAfter: more.retryAfter });

const neverServed = ({ ticket }: Admission): Settlement => ({
	ticket,
	outcome: "failed",
	microNeurons: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: false,
	backend: "",
	attempts: 0,
	latencyMs: 0,
	code: FAILURES.ledgerUnavailable.code,
});
