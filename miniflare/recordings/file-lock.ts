/**
 * Only one session at a time changes a file of recordings. The lock is a file beside it with the token of its owner, because the runtime's
 * disk service cannot create a file only if it is absent. So a session writes its token if there is none, waits until every other session
 * that saw none has written too, and has the lock if the token is still its own (Fischer's algorithm).
 */
import type { RecordingStore } from "./recording-store.ts";

/** Longer than a session needs from its look at the lock to the end of its write. */
const SETTLED_MS = 50;
/** The owner of a token that was seen so many times in a row has ended. A change takes milliseconds. */
const MAX_LOOKS = 40;

interface LockParts {
	store: RecordingStore;
	wait(milliseconds: number): Promise<void>;
}

export async function withLock<Value>(
	name: string,
	{ store, wait }: LockParts,
	change: () => Promise<Value>,
): Promise<Value> {
	const lock = `${name}.lock`;
	const own = crypto.randomUUID();
	let seen: string | undefined;
	let looks = 0;
	for (;;) {
		const owner = await store.read(lock);
		looks = owner === seen ? looks + 1 : 1;
		seen = owner;
		if (owner === undefined || looks > MAX_LOOKS) await store.write(lock, own);
		await wait(SETTLED_MS);
		if ((await store.read(lock)) === own) break;
	}
	try {
		return await change();
	} finally {
		if ((await store.read(lock)) === own) await store.remove(lock);
	}
}
