/**
 * The `Account` object: the accounts of one place, each an {@link OpenAccount}. A place has the accounts of one shard, or a single
 * account (src/accounts/places.ts). All accounts of a place share its tables, its commits and its alarm.
 */
import { DurableObject } from "cloudflare:workers";
import { hasPassed } from "../../core/elapsed.ts";
import { AccountChanges, type Revision } from "./account-changes.ts";
import { AccountCopy, type RowsPage } from "./account-copy.ts";
import {
	type AccountAnswer,
	type AccountAnswers,
	type AccountCall,
	type AccountMethod,
	METHODS,
} from "./account-methods.ts";
import { AccountTable, UNNAMED } from "./account-table.ts";
import { CancelledTickets } from "./cancelled-tickets.ts";
import { OpenAccount } from "./open-account.ts";
import type { AccountStorage } from "./row-table.ts";
import { assumeAll, UsedObjectsTable } from "./used-objects-table.ts";

/** Accounts in memory, of 4 KB each. The state of the others is in the tables only. */
const MAX_OPEN = 20_000;
/** The most accounts that one alarm wakes, so that it does not block admissions for long. */
const WOKEN_AT_ONCE = 100;
/** A move that takes longer is considered interrupted. */
const MOVE_MS = 30_000;
/** A later alarm is considered lost: the runtime drops an alarm that fails repeatedly. */
const ALARM_LOST_MS = 60_000;
/** When an account is due again whose wake has failed. */
const RETRY_MS = 60_000;
/** An account may stay due: its clock does not go back, and may stand behind the object's. */
const MIN_WAKE_MS = 1_000;

export class Account extends DurableObject {
	/** Those used last come last. */
	readonly #open = new Map<string, OpenAccount>();
	readonly #table: AccountTable;
	/** What the rows of all accounts share. */
	readonly #rows: Omit<AccountStorage, "account">;
	readonly #cancelled = new CancelledTickets();
	readonly #changes = new AccountChanges();
	/** When the latest move of each account began. Its id is later if the clock was set back. In memory. */
	readonly #movesBegan = new Map<string, number>();
	/** Unknown after a start, until it is set again. */
	#alarmAt: number | undefined;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		const { storage } = ctx;
		this.#table = new AccountTable(storage.sql);
		this.#rows = {
			sql: storage.sql,
			tables: new Map(),
			transactionSync: (change) => storage.transactionSync(change),
		};
		assumeAll(this.#rows, this.#table.unrecorded);
	}

	/** Calls one method of one account. */
	call(account: string, method: AccountMethod, parameters: readonly unknown[]): AccountAnswer {
		if (!Object.hasOwn(METHODS, method)) throw new TypeError(`An account has no method ${method}`);
		if (METHODS[method]) this.#changes.record(account);
		const opened = this.#account(account);
		if (!opened) return { moved: true };
		const called = opened[method] as (...parameters: readonly unknown[]) => unknown;
		return { value: called.call(opened, ...parameters) };
	}

	/**
	 * Calls of several accounts, with all writes in one commit. A failure is that of its call only. `known`: the latest revision that
	 * the caller has received.
	 */
	callAll(calls: readonly AccountCall[], known?: Revision): AccountAnswers {
		const answers = calls.map(({ account, method, parameters }) => {
			try {
				return this.call(account, method, parameters);
			} catch (error) {
				return { error: error instanceof Error ? error.message : String(error) };
			}
		});
		return { answers, changed: this.#changes.since(known) };
	}

	/**
	 * Begins to move the account to the object `to`: from now on its calls fail here. Returns its tables, and the id of the move, which
	 * each further step has: a step of an older move has no effect. Returns nothing while another caller moves the account.
	 */
	leave(account: string, to: string): { move: number; tables: string[] } | undefined {
		const { lastMove = 0, movingTo } = this.#table.find(account) ?? {};
		if (movingTo !== undefined && this.#mayMove(account, lastMove)) return undefined;
		this.#account(account)?.openAll();
		this.#close(account);
		this.#changes.record(account);
		const number = this.#numberOf(account);
		const move = Math.max(Date.now(), lastMove + 1);
		this.#table.setMoving(number, to, move);
		this.#movesBegan.set(account, Date.now());
		this.#setAlarm(this.#table.nextWake());
		return { move, tables: this.#copy(number).tables() };
	}

	/** The object to which the account moves, if that takes too long. */
	interruptedMove(account: string): string | undefined {
		const { lastMove = 0, movingTo } = this.#table.find(account) ?? {};
		return this.#mayMove(account, lastMove) ? undefined : movingTo;
	}

	/** Whether its move, which has this id, may be under way. */
	#mayMove(account: string, move: number): boolean {
		return !hasPassed(MOVE_MS, this.#movesBegan.get(account) ?? move, Date.now());
	}

	/** Rows of an account that has left. Nothing if the move is no longer the latest. */
	page(account: string, move: number, table: string, offset: number): RowsPage | undefined {
		return this.#copyOf(account, move)?.page(table, offset);
	}

	/**
	 * Begins to receive the account here, at `place`. Deletes what an interrupted move has left. Returns false, as the other steps, if the
	 * move is no longer the latest.
	 */
	expect(account: string, move: number, place: string): boolean {
		const { lastMove = 0 } = this.#table.find(account) ?? {};
		if (lastMove >= move) return false;
		const number = this.#numberOf(account);
		this.#table.endMove(number);
		this.#account(account)?.openAll();
		this.#close(account);
		this.#copy(number).clear();
		this.#table.setMoving(number, place, move);
		this.#movesBegan.set(account, Date.now());
		this.#setAlarm(this.#table.nextWake());
		return true;
	}

	accept(account: string, move: number, page: RowsPage): boolean {
		const copy = this.#copyOf(account, move);
		if (copy) this.ctx.storage.transactionSync(() => copy.add(page));
		return copy !== undefined;
	}

	/** All rows of the account are here. */
	arrive(account: string, move: number): boolean {
		const { account: number } = this.#copyOf(account, move) ?? {};
		if (number === undefined) return false;
		this.#table.endMove(number);
		this.#movesBegan.delete(account);
		this.#changes.record(account);
		// The account finds out when it is due.
		this.#table.setDue(number, { wakeAt: Date.now() });
		this.#setAlarm(this.#table.nextWake());
		return true;
	}

	/** Deletes the rows of an account that is elsewhere now. Its calls still fail here. */
	forget(account: string, move: number): boolean {
		const copy = this.#copyOf(account, move);
		copy?.clear();
		if (copy) this.#movesBegan.delete(account);
		return copy !== undefined;
	}

	/**
	 * Deletes the rows of the account. `hasLeft`: its move to another object has ended. Returns their number, or no number while a move
	 * may be under way, and the object to which the account has moved.
	 */
	erase(account: string, hasLeft: boolean): { rows?: number; movingTo?: string } {
		const found = this.#table.find(account);
		if (!found) return { rows: 0 };
		const { lastMove = 0, movingTo, number } = found;
		const moved = movingTo === undefined ? {} : { movingTo };
		if (movingTo !== undefined && !hasLeft && this.#mayMove(account, lastMove)) return moved;
		this.#close(account);
		this.#movesBegan.delete(account);
		this.#changes.record(account);
		const rows = this.ctx.storage.transactionSync(() => {
			const cleared = this.#copy(number).clear();
			this.#table.delete(number);
			return cleared + 1;
		});
		this.#setAlarm(this.#table.nextWake());
		return { rows, ...moved };
	}

	/** Nothing if the move is not the latest one of the account, or has ended. */
	#copyOf(account: string, move: number): AccountCopy | undefined {
		const { lastMove, movingTo, number } = this.#table.find(account) ?? {};
		return number !== undefined && movingTo !== undefined && lastMove === move
			? this.#copy(number)
			: undefined;
	}

	#copy(account: number): AccountCopy {
		return new AccountCopy({ sql: this.ctx.storage.sql, account });
	}

	#numberOf(account: string): number {
		return this.#table.find(account)?.number ?? this.#table.add(account);
	}

	#close(account: string): void {
		this.#open.get(account)?.close();
		this.#open.delete(account);
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
			this.#account(account)?.wake();
		} catch (error) {
			console.error(`The wake of an account has failed: ${error instanceof Error ? error.message : error}`);
			this.#open.delete(account);
			const found = this.#table.find(account);
			if (found) this.#table.setDue(found.number, { ...found, wakeAt: now + RETRY_MS });
		}
	}

	/** Nothing if the account moves, or has moved. */
	#account(account: string): OpenAccount | undefined {
		const opened = this.#open.get(account);
		if (opened) {
			if (this.#open.size < MAX_OPEN / 2) return opened;
			this.#open.delete(account);
			this.#open.set(account, opened);
			return opened;
		}
		for (const oldest of this.#open.keys()) {
			if (this.#open.size < MAX_OPEN) break;
			this.#close(oldest);
		}
		const created = this.#create(account);
		if (created && account !== UNNAMED) this.#open.set(account, created);
		return created;
	}

	#create(account: string): OpenAccount | undefined {
		const found = this.#table.find(account);
		if (found?.movingTo !== undefined) return undefined;
		let { number, wakeAt } = found ?? {};
		const rowsOf = (of: number): AccountStorage => ({ ...this.#rows, account: of });
		return new OpenAccount({
			cancelled: this.#cancelled,
			get existing() {
				return number === undefined ? undefined : rowsOf(number);
			},
			due: found ?? {},
			record: () => {
				number = this.#table.add(account);
				const rows = rowsOf(number);
				// The table of this version exists as soon as an account does.
				new UsedObjectsTable(rows);
				return rows;
			},
			setDue: (due) => {
				if (number === undefined) return;
				this.#table.setDue(number, due);
				this.#reschedule(wakeAt, due.wakeAt);
				wakeAt = due.wakeAt;
			},
			ensureAlarm: () => {
				if (this.#knownAlarm() === undefined) this.#setAlarm(this.#table.nextWake());
			},
		});
	}

	/** One alarm serves all accounts. Setting it is a write, so it is set only if the account was, or is now, the first one due. */
	#reschedule(before: number | undefined, wakeAt: number | undefined): void {
		const alarmAt = this.#knownAlarm();
		const wasFirst = alarmAt === undefined || (before !== undefined && before <= alarmAt);
		if (!wasFirst && (wakeAt === undefined || wakeAt >= alarmAt)) return;
		const next = this.#table.nextWake();
		if (next !== alarmAt) this.#setAlarm(next);
	}

	/** Nothing if it is unknown or lost. */
	#knownAlarm(): number | undefined {
		return this.#alarmAt === undefined || this.#alarmAt + ALARM_LOST_MS < Date.now()
			? undefined
			: this.#alarmAt;
	}

	#setAlarm(time: number | undefined): void {
		this.#alarmAt = time;
		const { storage } = this.ctx;
		// Not awaited: the runtime holds the answer until all writes are on the disk, including this one.
		void (time === undefined ? storage.deleteAlarm() : storage.setAlarm(time));
	}
}
