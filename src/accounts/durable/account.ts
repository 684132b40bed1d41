/**
 * The `Account` object: the accounts of one place, each an {@link OpenAccount}. A place has the accounts of one shard, or a single
 * account (src/accounts/places.ts). All accounts of a place share its tables, its commits and its alarm.
 */
import { DurableObject } from "cloudflare:workers";
import { AccountTable } from "./account-table.ts";
import { CancelledTickets } from "./cancelled-tickets.ts";
import { OpenAccount } from "./open-account.ts";

/** The methods that the Worker calls. */
const METHODS = [
	"admit",
	"admitAll",
	"journal",
	"checkLeases",
	"settle",
	"verify",
	"tokens",
	"aliases",
	"setAlias",
	"deleteAlias",
	"usage",
	"refusals",
	"requests",
	"forgiveLease",
	"limitStatus",
	"boundGateway",
	"setBoundGateway",
] as const satisfies (keyof OpenAccount)[];

export type AccountMethod = (typeof METHODS)[number];

/** One call for one account, in a call of the object for several. */
export interface AccountCall {
	account: string;
	method: AccountMethod;
	parameters: readonly unknown[];
}

export type AccountAnswer = { value: unknown } | { error: string };

/** Accounts in memory. The state of the others is in the tables only. */
const MAX_OPEN = 2_000;
/** The most accounts that one alarm wakes, so that it does not block admissions for long. */
const WOKEN_AT_ONCE = 100;
/** A later alarm is considered lost: the runtime drops an alarm that fails repeatedly. */
const ALARM_LOST_MS = 60_000;
/** When an account is due again whose wake has failed. */
const RETRY_MS = 60_000;
/** An account may stay due: its clock does not go back, and may stand behind the object's. */
const MIN_WAKE_MS = 1_000;

const isMethod = (name: string): name is AccountMethod => (METHODS as readonly string[]).includes(name);

export class Account extends DurableObject {
	/** Those used last come last. */
	readonly #open = new Map<string, OpenAccount>();
	readonly #table: AccountTable;
	readonly #tables = new Set<string>();
	readonly #cancelled = new CancelledTickets();
	/** Unknown after a start, until it is set again. */
	#alarmAt: number | undefined;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#table = new AccountTable(ctx.storage.sql);
	}

	/** Calls one method of one account. */
	call(account: string, method: AccountMethod, parameters: readonly unknown[]): unknown {
		if (!isMethod(method)) throw new TypeError(`An account has no method ${method}`);
		const opened = this.#account(account);
		return (opened[method] as (...parameters: readonly unknown[]) => unknown).call(opened, ...parameters);
	}

	/** Calls of several accounts, with all writes in one commit. A failure is that of its call only. */
	callAll(calls: readonly AccountCall[]): AccountAnswer[] {
		return calls.map(({ account, method, parameters }) => {
			try {
				return { value: this.call(account, method, parameters) };
			} catch (error) {
				return { error: error instanceof Error ? error.message : String(error) };
			}
		});
	}

	override alarm(): void {
		const now = Date.now();
		// The alarm is that of the first account. Its time may be later than this clock's.
		const until = Math.max(now, this.#table.nextWake() ?? now);
		for (const account of this.#table.due(until, WOKEN_AT_ONCE)) this.#wake(account, now);
		this.#alarmAt = undefined;
		const next = this.#table.nextWake();
		if (next !== undefined) this.#setAlarm(Math.max(next, now + MIN_WAKE_MS));
	}

	/** One account whose wake fails does not stop the others. */
	#wake(account: string, now: number): void {
		try {
			this.#account(account).wake();
		} catch (error) {
			console.error(`The wake of an account has failed: ${error instanceof Error ? error.message : error}`);
			this.#open.delete(account);
			const found = this.#table.find(account);
			if (found) this.#table.setDue(found.number, { ...found, wakeAt: now + RETRY_MS });
		}
	}

	#account(account: string): OpenAccount {
		const opened = this.#open.get(account);
		if (opened) {
			if (this.#open.size < MAX_OPEN / 2) return opened;
			this.#open.delete(account);
			this.#open.set(account, opened);
			return opened;
		}
		for (const [oldest, other] of this.#open) {
			if (this.#open.size < MAX_OPEN) break;
			other.close();
			this.#open.delete(oldest);
		}
		const created = this.#create(account);
		this.#open.set(account, created);
		return created;
	}

	#create(account: string): OpenAccount {
		const { storage } = this.ctx;
		const found = this.#table.find(account);
		let { number, wakeAt } = found ?? {};
		const rowsOf = (of: number) => ({
			sql: storage.sql,
			account: of,
			tables: this.#tables,
			transactionSync: <T>(change: () => T): T => storage.transactionSync(change),
		});
		return new OpenAccount({
			cancelled: this.#cancelled,
			get existing() {
				return number === undefined ? undefined : rowsOf(number);
			},
			due: found ?? {},
			record: () => {
				number = this.#table.add(account);
				return rowsOf(number);
			},
			setDue: (due) => {
				if (number === undefined) return;
				this.#table.setDue(number, due);
				this.#reschedule(wakeAt, due.wakeAt);
				wakeAt = due.wakeAt;
			},
			ensureAlarm: () => {
				if (this.#isAlarmLost) this.#setAlarm(this.#table.nextWake());
			},
		});
	}

	/** One alarm serves all accounts. Setting it is a write, so it is set only if the account was, or is now, the first one due. */
	#reschedule(before: number | undefined, wakeAt: number | undefined): void {
		const alarmAt = this.#isAlarmLost ? undefined : this.#alarmAt;
		const wasFirst = alarmAt === undefined || (before !== undefined && before <= alarmAt);
		if (!wasFirst && (wakeAt === undefined || wakeAt >= alarmAt)) return;
		const next = this.#table.nextWake();
		if (next !== alarmAt) this.#setAlarm(next);
	}

	get #isAlarmLost(): boolean {
		return this.#alarmAt === undefined || this.#alarmAt + ALARM_LOST_MS < Date.now();
	}

	#setAlarm(time: number | undefined): void {
		this.#alarmAt = time;
		const { storage } = this.ctx;
		// Not awaited: the runtime holds the answer until all writes are on the disk, including this one.
		void (time === undefined ? storage.deleteAlarm() : storage.setAlarm(time));
	}
}
