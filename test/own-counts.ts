/**
 * Files share an isolate, and its counts. What requests of earlier files hold stays counted until the end of a file, so that a test which
 * compares a count with that at its beginning, or sets a limit above it, does not depend on the files before.
 */
import { afterAll } from "vitest";
import { PROCESS_COUNTS } from "../src/core/process-counts.ts";
import type { SharedCount } from "../src/core/shared-count.ts";

/** Until the returned function is called, the count releases only what was added after this call. That function releases the rest. */
export function keepEarlier(count: SharedCount): () => void {
	const { add, release } = count;
	const own = new Map<string, number>();
	const kept: [account: string, amount: number][] = [];
	count.add = (account, amount = 1) => {
		own.set(account, (own.get(account) ?? 0) + amount);
		add.call(count, account, amount);
	};
	count.release = (account, amount = 1) => {
		const taken = own.get(account) ?? 0;
		const released = Math.min(taken, amount);
		own.set(account, taken - released);
		if (released > 0) release.call(count, account, released);
		if (released < amount) kept.push([account, amount - released]);
	};
	return () => {
		count.add = add;
		count.release = release;
		for (const [account, amount] of kept) count.release(account, amount);
	};
}

const ends = PROCESS_COUNTS.map(keepEarlier);
afterAll(() => {
	for (const end of ends) end();
});
