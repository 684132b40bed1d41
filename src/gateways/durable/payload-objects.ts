/**
 * Stores large payloads of a gateway's log in an R2 bucket, and deletes them with their log. It never throws: a payload that cannot be
 * stored is absent, and a deletion that fails is repeated.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { withTimeout } from "../../core/with-timeout.ts";
import type { LargePayload } from "../logs/log-batch.ts";
import type { PayloadTable } from "./payload-table.ts";

/** A call of the bucket that takes longer has failed. */
const TIMEOUT_MS = 10_000;
/** After a failure, payloads of this time are not sent to the bucket: each would wait for the timeout. */
const PAUSE_MS = 10_000;
/** R2 deletes at most so many at once. */
const DELETED_AT_ONCE = 1_000;

export type PayloadBucket = Pick<R2Bucket, "put" | "get" | "delete">;

export class PayloadObjects {
	readonly #bucket: PayloadBucket;
	readonly #table: PayloadTable;
	readonly #now: () => number;
	/** By key. A read waits for them. */
	readonly #storing = new Map<string, Promise<unknown>>();
	#deleting: Promise<boolean> | undefined;
	#pausedAt: number | undefined;

	constructor(bucket: PayloadBucket, table: PayloadTable, now: () => number = () => Date.now()) {
		this.#bucket = bucket;
		this.#table = table;
		this.#now = now;
	}

	/** Stores the large payloads of logs whose rows are inserted. @returns the number of those that are lost. */
	async store(large: readonly LargePayload[]): Promise<number> {
		const stored = await Promise.all(large.map((payload) => this.#store(payload)));
		return stored.filter((isStored) => !isStored).length;
	}

	/** `undefined`: the object does not exist, or the bucket fails. */
	async read(key: string): Promise<string | undefined> {
		await this.#storing.get(key);
		return this.#attempt(async () => (await this.#bucket.get(key))?.text());
	}

	/** Deletes the objects of deleted logs. @returns whether none remains. */
	sweep(): Promise<boolean> {
		this.#deleting ??= this.#sweep().finally(() => {
			this.#deleting = undefined;
		});
		return this.#deleting;
	}

	async #store({ log, part, payload }: LargePayload): Promise<boolean> {
		const key = this.#table.reference(log, part)?.key;
		// The log is not kept, or its payload was dropped before.
		if (key === undefined) return true;
		if (!hasPassed(PAUSE_MS, this.#pausedAt, this.#now())) {
			this.#table.dropReference(log, part);
			return false;
		}
		const storing = this.#attempt(() => this.#bucket.put(key, payload.text, TEXT));
		this.#storing.set(key, storing);
		const object = await storing;
		this.#storing.delete(key);
		// The log may have been deleted meanwhile. A call that failed may still store the object.
		if (!object || !this.#table.reference(log, part)) this.#table.deleteObject(log, part, key);
		return Boolean(object);
	}

	async #sweep(): Promise<boolean> {
		for (;;) {
			const keys = this.#table.deletedObjects(DELETED_AT_ONCE);
			if (keys.length === 0) return true;
			const isDeleted = await this.#attempt(async () => {
				await this.#bucket.delete(keys);
				return true;
			});
			if (!isDeleted) return false;
			this.#table.confirmDeleted(keys);
		}
	}

	async #attempt<T>(call: () => Promise<T>): Promise<T | undefined> {
		try {
			return await withTimeout(call(), TIMEOUT_MS, () => new Error("The bucket does not answer"));
		} catch {
			this.#pausedAt = this.#now();
			return undefined;
		}
	}
}

const TEXT = { httpMetadata: { contentType: "text/plain; charset=utf-8" } };
