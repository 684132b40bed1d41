/**
 * Queries that an isolate has answered, and has not reported to the registry of their account. Those of the same time are one report. A report
 * that fails is repeated with its id, so each query is counted once. A kill loses those of the last ten seconds: a commit delays everything in the process.
 */
import { utcDay } from "../../../accounts/clock.ts";
import type { QueryCount, QueryReport } from "../durable/day-table.ts";

const REPORT_AFTER_MS = 10_000;
const REPEAT_AFTER_MS: readonly number[] = [1_000, 5_000, 15_000];

interface QueryCountServices {
	report(account: string, report: QueryReport): Promise<void>;
	now(): number;
	uuid(): string;
	wait(milliseconds: number): Promise<void>;
	waitUntil(promise: Promise<unknown>): void;
}

export class QueryCounts {
	readonly #services: QueryCountServices;
	/** By account, and then by day and index. */
	readonly #pending = new Map<string, Map<string, QueryCount>>();

	constructor(services: QueryCountServices) {
		this.#services = services;
	}

	count(account: string, index: string, dimensions: number): void {
		const { now, wait, waitUntil } = this.#services;
		const day = utcDay(now());
		const key = `${day}/${index}`;
		const counts = this.#pending.get(account);
		const { queries, dimensions: sum } = counts?.get(key) ?? { queries: 0, dimensions: 0 };
		const count = { index, day, queries: queries + 1, dimensions: sum + dimensions };
		if (counts) {
			counts.set(key, count);
			return;
		}
		this.#pending.set(account, new Map([[key, count]]));
		waitUntil(wait(REPORT_AFTER_MS).then(() => this.#report(account)));
	}

	async #report(account: string): Promise<void> {
		const counts = [...(this.#pending.get(account)?.values() ?? [])];
		this.#pending.delete(account);
		const { report, uuid, wait } = this.#services;
		const id = uuid();
		for (const repeatAfterMs of [...REPEAT_AFTER_MS, undefined])
			try {
				return await report(account, { id, counts });
			} catch {
				if (repeatAfterMs !== undefined) await wait(repeatAfterMs);
			}
	}
}
