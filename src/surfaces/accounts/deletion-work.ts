/**
 * The handler of the durable queue that deletes an account's data. It goes through all classes of objects (account-rooms.ts) until a pass
 * finds nothing. A repeated step deletes what the last one has left, so a kill at any time only repeats steps. The name of the account then
 * stays refused for a time, and a last pass ends the item.
 */
import { LIST_FRESH_MS } from "../../core/deleted-accounts.ts";
import { toAiError } from "../../core/errors.ts";
import { PostponedWork, type WorkHandler, type WorkRun } from "../../storage/queue/work.ts";
import type { AppServices } from "../services.ts";
import { ACCOUNT_ROOMS } from "./account-rooms.ts";
import { type DeletionProgress, deletionId } from "./deletion-item.ts";

/** Until all isolates refuse the account, and calls that began before have arrived. */
const SETTLE_MS = LIST_FRESH_MS + 1_000;
/** Between two passes. */
const PASS_MS = 1_000;
/** How long the name of a deleted account stays refused. Nothing that ends late takes longer. */
const REFUSED_MS = 3_600_000;
/** A store outside may be unreachable for days. The deletion goes on when it is there again. */
const MAX_ATTEMPTS = 1_000_000;

export const deletionWork = (services: AppServices): WorkHandler => ({
	maxAttempts: MAX_ATTEMPTS,
	run: (run) => services.deletedAccounts.exempt(() => deleteOnce(run, services)),
});

async function deleteOnce(run: WorkRun, services: AppServices): Promise<void> {
	const { deletedAccounts, now } = services;
	const account = run.key;
	const { begunAt, until } = await deletedAccounts.begin(account);
	const settled = begunAt + SETTLE_MS - now();
	if (settled > 0) throw new PostponedWork(Math.min(settled, SETTLE_MS));
	// A clock that was set back does not make it longer.
	if (until !== undefined && until > now()) throw new PostponedWork(Math.min(until - now(), REFUSED_MS));
	if (!(await deletePass(run, services))) throw new PostponedWork(PASS_MS);
	if (until === undefined) {
		await deletedAccounts.end(account, now() + REFUSED_MS);
		throw new PostponedWork(REFUSED_MS);
	}
	await deletedAccounts.forget(account);
}

/** Returns whether nothing was found. */
async function deletePass(run: WorkRun, services: AppServices): Promise<boolean> {
	const account = run.key;
	const status = await services.storage.queue.status(deletionId(account));
	const deleted = { ...(status?.progress as DeletionProgress | undefined)?.deleted };
	const waiting: string[] = [];
	let hasDeleted = false;
	for (const [name, room] of Object.entries(ACCOUNT_ROOMS)) {
		run.signal.throwIfAborted();
		if (typeof room !== "function") continue;
		let rows: number | undefined;
		try {
			rows = await room(account, services);
		} catch (error) {
			services.log(toAiError(error), "");
		}
		if (rows === undefined) waiting.push(name);
		else if (rows > 0) {
			hasDeleted = true;
			deleted[name] = (deleted[name] ?? 0) + rows;
		}
	}
	run.progress({ deleted, waiting } satisfies DeletionProgress);
	return !hasDeleted && waiting.length === 0;
}
