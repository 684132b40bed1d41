/**
 * Moves an account to another object, while the gateway serves. From the first step its calls fail at the old object, and their callers
 * try again until the directory names the new one. A move that was interrupted is made again from its beginning, by the
 * next caller of the account.
 */
import { objectUnavailable } from "../../core/object-failure.ts";
import type { Account } from "../durable/account.ts";
import type { DirectoryCache } from "./directory-cache.ts";

interface MoveServices {
	namespace: DurableObjectNamespace<Account>;
	directory: DirectoryCache;
}

/** Returns whether the account was elsewhere. False, too, while another caller moves it. */
export async function moveAccount(
	account: string,
	to: string,
	{ directory, namespace }: MoveServices,
): Promise<boolean> {
	const from = await directory.lookUp(account);
	if (from === undefined || from === to) return false;
	const [source, target] = [namespace.getByName(from), namespace.getByName(to)];
	const left = await source.leave(account, to);
	if (!left) return false;
	const { move } = left;
	if (!(await target.expect(account, move, to))) return false;
	for (const table of left.tables) {
		let offset: number | undefined = 0;
		while (offset !== undefined) {
			const page = await source.page(account, move, table, offset);
			if (!page || !(await target.accept(account, move, page))) return false;
			offset = page.next;
		}
	}
	if (!(await target.arrive(account, move))) return false;
	await directory.setPlace(account, to);
	await source.forget(account, move);
	return true;
}

/**
 * Deletes the rows of the account, also those that moves have left at other places. Returns their number, or nothing while a move is
 * under way.
 */
export async function eraseAccount(
	account: string,
	{ directory, namespace }: MoveServices,
): Promise<number | undefined> {
	let rows = 0;
	let isMoving = false;
	try {
		const { former, present } = await directory.places(account);
		const places = new Set([...former, ...present]);
		// A place that is added meanwhile follows.
		for (const place of places) {
			const erased = await namespace.getByName(place).erase(account, former.includes(place));
			if (erased.movingTo !== undefined) places.add(erased.movingTo);
			if (erased.rows === undefined) isMoving = true;
			else rows += erased.rows;
		}
	} catch (cause) {
		throw objectUnavailable(cause);
	}
	return isMoving ? undefined : rows;
}
