/**
 * What each account has used of the thread since the last probe of the connection guard, beyond the requests and bytes that the guard sees:
 * runs of models, calls of objects, and bytes that are held. A request of a few bytes may cause hundreds of them. The unit is that of
 * `scripts/connections/pace.ts`: about the cost of a small request.
 */

const UNITS = {
	/** A run of a model or a provider, also of a step, a guard model or a line of a batch. */
	run: 1,
	/** A call of an object, with its commit. */
	call: 0.5,
	/** To open an object: its file, and its tables. */
	open: 5,
	/** A mebibyte of buffered requests and answers: what is read as a whole is decoded, parsed, copied and collected. */
	mebibyte: 16,
} as const;

const MEBIBYTE = 1024 * 1024;
/** Of one report. The work of further accounts is not counted. */
const MAX_ACCOUNTS = 1_000;

export class ThreadUse {
	#units = new Map<string, number>();
	/** A guard reads the reports. */
	#isRead = false;

	add(account: string, kind: keyof typeof UNITS, count = 1): void {
		if (!this.#isRead) return;
		const before = this.#units.get(account);
		if (before === undefined && this.#units.size >= MAX_ACCOUNTS) return;
		this.#units.set(account, (before ?? 0) + count * UNITS[kind]);
	}

	addBytes(account: string, bytes: number): void {
		this.add(account, "mebibyte", bytes / MEBIBYTE);
	}

	/** Units by account. The count begins anew. */
	take(): Record<string, number> {
		this.#isRead = true;
		const units = Object.fromEntries(this.#units);
		this.#units = new Map();
		return units;
	}
}

/** Of this isolate. */
export const threadUse = new ThreadUse();
