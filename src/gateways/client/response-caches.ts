/**
 * An isolate's client of the caches of gateways. It keeps a copy of answers that were read within `COPY_MS`: a purge in this isolate
 * takes effect at once, a purge in another isolate within that time. It never throws: an object that fails is a miss.
 */
import { diskSpace } from "../../core/disk-space.ts";
import { hasPassed } from "../../core/elapsed.ts";
import type { ReadResult, ResponseCache, StoredAnswer, WriteCall } from "../durable/response-cache.ts";

/** How long a copy is used. A purge in another isolate takes effect within this time. */
const COPY_MS = 1_000;
/** Of the copies of all gateways, with their texts. */
const MAX_COPY_BYTES = 32 * 1024 * 1024;
/** Larger answers have no copy. */
const MAX_COPIED_BYTES = 256 * 1024;
/** Counted for a copy, in addition to the bytes of its answer. */
const ROW_BYTES = 512;

type ResponseCacheCalls = Pick<DurableObjectStub<ResponseCache>, "read" | "write" | "purge">;

interface ResponseCachesServices {
	/** `name`: `account/gateway`. A stub belongs to the request that created it: each call needs a new one. */
	object(name: string): ResponseCacheCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	/** An object could not be called. */
	failed(cause: unknown): void;
}

export type CachedAnswer = Pick<StoredAnswer, "headers" | "body">;
type CacheRead = Pick<ReadResult, "purges"> & { answer?: CachedAnswer };

interface GatewayCache {
	/** `undefined`: the object cannot be called. */
	read(key: string): Promise<CacheRead | undefined>;
	/** `purges`: of the read that came before. */
	write(
		key: string,
		answer: CachedAnswer,
		options: Pick<WriteCall, "ttlSeconds" | "purges" | "maxBytes" | "accountMaxBytes">,
	): Promise<void>;
}

interface Copy {
	answer: StoredAnswer;
	purges: number;
	at: number;
}

export class ResponseCaches {
	readonly #services: ResponseCachesServices;
	/** By `account/gateway` and key. The least recently used is first. */
	readonly #copies = new Map<string, Copy>();
	#copyBytes = 0;
	/** Calls that failed, of this isolate. */
	#failures = 0;

	constructor(services: ResponseCachesServices) {
		this.#services = services;
	}

	get failures(): number {
		return this.#failures;
	}

	of(account: string, gateway: string): GatewayCache {
		const name = `${account}/${gateway}`;
		return {
			read: (key) => this.#attempt(() => this.#read(name, key)),
			write: async (key, answer, options) => {
				if (!diskSpace.mayWrite()) return;
				await this.#attempt(() => this.#services.object(name).write({ key, ...answer, ...options }));
			},
		};
	}

	/** Deletes all answers of a gateway. Throws if the object cannot be called. @returns the number of answers. */
	async purge(account: string, gateway: string): Promise<number> {
		const name = `${account}/${gateway}`;
		const purged = await this.#services.object(name).purge();
		// After the call: a read under way may have copied an answer meanwhile.
		for (const id of this.#copies.keys()) if (id.startsWith(`${name}/`)) this.#forget(id);
		return purged;
	}

	async #read(name: string, key: string): Promise<CacheRead> {
		const id = `${name}/${key}`;
		const now = this.#services.now();
		const copy = this.#copies.get(id);
		if (copy && !hasPassed(COPY_MS, copy.at, now) && copy.answer.expiresAt > now) {
			this.#copies.delete(id);
			this.#copies.set(id, copy);
			return copy;
		}
		this.#forget(id);
		const { answer, purges } = await this.#services.object(name).read(key);
		if (!answer) return { purges };
		this.#keep(id, { answer, purges, at: now });
		return { answer, purges };
	}

	#keep(id: string, copy: Copy): void {
		if (copy.answer.body.length > MAX_COPIED_BYTES) return;
		this.#forget(id);
		this.#copies.set(id, copy);
		this.#copyBytes += sizeOf(copy);
		for (const oldest of this.#copies.keys()) {
			if (this.#copyBytes <= MAX_COPY_BYTES) break;
			this.#forget(oldest);
		}
	}

	#forget(id: string): void {
		const copy = this.#copies.get(id);
		if (!copy) return;
		this.#copies.delete(id);
		this.#copyBytes -= sizeOf(copy);
	}

	async #attempt<T>(call: () => Promise<T>): Promise<T | undefined> {
		try {
			return await call();
		} catch (cause) {
			this.#failures++;
			this.#services.failed(cause);
			return undefined;
		}
	}
}

/** The log of each request has the text of the answer, so the text is kept too. */
const sizeOf = ({ answer }: Copy): number => answer.body.length * 2 + ROW_BYTES;
