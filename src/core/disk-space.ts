/**
 * The free space of the disk with the accounts. A part of it is a reserve for the ledger: below it, logs, caches, resumable streams and
 * stored responses are not written. A disk that cannot be written has the limit 0. Unknown, as on Cloudflare: everything is written.
 */
import type { CountReport } from "./shared-count.ts";

/** The name of the report of another process, which can read the state of the disk. */
export const DISK_CLASS = "disk_bytes";

class DiskSpace {
	#latest: CountReport | undefined;
	#refused = 0;

	/** `used`: bytes of the disk. `limit`: without the reserve. `undefined`: unknown. */
	set(report: CountReport | undefined): void {
		this.#latest = report;
	}

	/** The reserve is in use, or nothing can be written. */
	get isLow(): boolean {
		return this.#latest !== undefined && this.#latest.used > this.#latest.limit;
	}

	/** Whether something other than the ledger may be written. Counts a refusal. */
	mayWrite(): boolean {
		if (this.isLow) this.#refused++;
		return !this.isLow;
	}

	/** Empty if the space is unknown. */
	reports(): CountReport[] {
		return this.#latest ? [{ ...this.#latest, refused: this.#refused }] : [];
	}
}

export const diskSpace = new DiskSpace();
