/**
 * Queries that an isolate has answered, and has not reported to the registry of their account. Those of the same time are one report. A report
 * that fails is repeated with its id, so each query is counted once. A kill loses those of the last {@link REPORT_AFTER_MS}: a commit delays
 * everything in the process, so reports are rare. A stop and a reader of the counts report at once.
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
	/** A stop waits for the promise. */
	waitUntil(promise: Promise<unknown>): void;
	/** A stop does not wait for the promise. */
	keepAlive(promise: Promise<unknown>): void;
}

export class QueryCounts {
	readonly #services: QueryCountServices;
	/** By account, and then by day and index. */
	readonly #pending = new Map<string, Map<string, QueryCount>>();

	constructor(services: QueryCountServices) {
		this.#services = services;
	}

	count(account: string, index: string, dimensions: number): void {
		const { keepAlive, now, wait, waitUntil } = this.#services;
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
		keepAlive(wait(REPORT_AFTER_MS).then(() => waitUntil(this.flush(account))));
	}

	/** Reports the queries of all accounts. Never rejects. */
	async flushAll(): Promise<void> {
		await Promise.all([...this.#pending.keys()].map((account) => this.flush(account)));
	}

	/** Reports the queries of an account. Never rejects. A report that fails is repeated later. */
	async flush(account: string): Promise<void> {
		const counts = [...(this.#pending.get(account)?.values() ?? [])];
		if (counts.length === 0) return;
		this.#pending.delete(account);
		const { report: send, uuid, waitUntil } = this.#services;
		const report = { id: uuid(), counts };
		await send(account, report).catch(() => waitUntil(this.#repeat(account, report)));
	}

	async #repeat(account: string, report: QueryReport): Promise<void> {
		const { report: send, wait } = this.#services;
		for (const milliseconds of REPEAT_AFTER_MS) {
			await wait(milliseconds);
			try {
				return await send(account, report);
			} catch {
				// The last one is given up.
			}
		}
	}
}
