/**
 * The `BlobStore` object: the stored objects of one account (`blobs.ts`). It has the list of all objects, and the bytes of those
 * whose store is `pieces`. A small object is stored with one call and one commit.
 */
import { DurableObject } from "cloudflare:workers";
import { deleteTogether } from "../../core/deletions.ts";
import { setAlarmBy } from "../../core/earliest-alarm.ts";
import { eraseObject } from "../../core/erase-object.ts";
import {
	BlobTable,
	type ContentPlace,
	headOf,
	type LooseContent,
	type StoreName,
	type StoreUsage,
} from "./blob-table.ts";
import type { BlobHead, BlobPage, BlobRange } from "./blobs.ts";
import type { ContentStore } from "./contents.ts";
import { LiveContents } from "./live-contents.ts";
import { PieceTable } from "./piece-table.ts";

/** Contents per millisecond, so that the numbers of later contents are larger. They are exact until the year 2248. */
const CONTENTS_PER_MS = 1024;
/** A put outside may have been sent before its object restarted. */
const OUTSIDE_GRACE_MS = 60 * 60_000;
/** After a deletion outside that failed. */
const DELETE_AGAIN_MS = 60_000;
/** Loose contents that one step reads. */
const COLLECTED_AT_ONCE = 100;
/** Rows that one step deletes. */
const ROWS_AT_ONCE = 256;

/** `full`: the account's storage is full. `lost`: the put was abandoned. */
export type PutRefusal = { ok: false; reason: "full"; stored: number } | { ok: false; reason: "lost" };
export type PutResult<T = object> = ({ ok: true } & T) | PutRefusal;

export interface OpenedBlob extends BlobHead, ContentPlace {
	range: { offset: number; length: number };
	/** The first bytes of the range. Absent for contents outside. */
	first?: Uint8Array;
}

export class BlobStoreObject extends DurableObject {
	readonly #table: BlobTable;
	readonly #pieces: PieceTable;
	readonly #live: LiveContents;
	#lastContent: number;
	/** A store outside has failed. The alarm does not fire before this time. */
	#pausedUntil = 0;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#table = new BlobTable(ctx.storage.sql);
		this.#pieces = new PieceTable(ctx.storage.sql);
		this.#live = new LiveContents(ctx.id.toString());
		this.#lastContent = this.#pieces.lastContent();
		// Puts of a process that has ended are collected now, not when they would have been idle.
		if (this.#table.nextLoose(1).length > 0) void ctx.blockConcurrencyWhile(() => this.#schedule());
	}

	/** The stores outside. The Worker's class has the settings that this needs (`index.ts`). */
	protected contentStore(_: ContentStore["store"]): ContentStore | undefined {
		return undefined;
	}

	/** Stores an object of one piece at most. `maxBytes`: of all objects of the account. */
	async putPiece(key: string, bytes: Uint8Array, maxBytes: number): Promise<PutResult<{ head: BlobHead }>> {
		const replaced = this.#table.find(key)?.bytes ?? 0;
		const refusal = this.#refusal("pieces", bytes.length - replaced, maxBytes);
		if (refusal) return refusal;
		const content = this.#nextContent();
		this.#pieces.write(content, 0, bytes);
		const head = await this.#commit(key, { content, store: "pieces", name: null }, bytes.length);
		return { ok: true, head };
	}

	/** Starts a put. `bytes`: its size, if it is known. `name`: for a store outside. */
	async begin(
		place: Omit<ContentPlace, "content">,
		{ bytes = 0, maxBytes }: { bytes?: number; maxBytes: number },
	): Promise<PutResult<{ content: number }>> {
		const refusal = this.#refusal(place.store, bytes, maxBytes);
		if (refusal) return refusal;
		const content = this.#nextContent();
		const now = Date.now();
		const collectAt = place.store === "pieces" ? now : now + OUTSIDE_GRACE_MS;
		this.#table.addLoose({ ...place, content, collectAt, incomplete: true });
		this.#live.put(content, bytes);
		await this.#schedule();
		return { ok: true, content };
	}

	/** Stores the next piece of a put. `added`: its bytes that `begin` did not have. */
	append(
		content: number,
		{ piece, bytes, added, maxBytes }: { piece: number; bytes: Uint8Array; added: number; maxBytes: number },
	): PutResult {
		const extended = this.extend(content, { store: "pieces", added, maxBytes });
		if (extended.ok) this.#pieces.take(content, piece, bytes);
		return extended;
	}

	/** Counts more bytes of a put. */
	extend(
		content: number,
		{ store, added, maxBytes }: { store: StoreName; added: number; maxBytes: number },
	): PutResult {
		if (this.#live.endOf(content) === undefined || !this.#table.loose(content))
			return { ok: false, reason: "lost" };
		const refusal = this.#refusal(store, added, maxBytes);
		if (refusal) return refusal;
		this.#live.put(content, added);
		return { ok: true };
	}

	/** Ends a put: the object is visible. `bytes`: its size. */
	async commit(key: string, content: number, bytes: number): Promise<PutResult<{ head: BlobHead }>> {
		const place = this.#table.loose(content);
		if (!place || this.#live.endOf(content) === undefined) return { ok: false, reason: "lost" };
		this.#live.end(content);
		this.#table.deleteLoose(content);
		return { ok: true, head: await this.#commit(key, place, bytes) };
	}

	/** Ends a put that failed. */
	async abandon(content: number): Promise<void> {
		this.#live.end(content);
		const place = this.#table.loose(content);
		if (place) await this.#collectLater([place]);
	}

	open(key: string, range: BlobRange = { offset: 0 }): OpenedBlob | undefined {
		const row = this.#table.find(key);
		if (!row) return undefined;
		const part = clip(range, row.bytes);
		if (row.store !== "pieces") return { ...row, range: part };
		const end = part.offset + part.length;
		const first = this.#pieces.read(row.content, part.offset, end);
		if (first && first.length < part.length) this.#live.read(row.content);
		return { ...row, range: part, ...(first && { first }) };
	}

	/** The first bytes of a part. `undefined`: the content was deleted. */
	read(content: number, offset: number, end: number): Uint8Array | undefined {
		this.#live.read(content);
		return this.#pieces.read(content, offset, end);
	}

	head(key: string): BlobHead | undefined {
		const row = this.#table.find(key);
		return row && headOf(row);
	}

	/** @returns the number of objects that existed. */
	async remove(keys: readonly string[]): Promise<number> {
		const removed = keys.flatMap((key) => this.#table.delete(key) ?? []);
		for (const { content } of removed) this.#live.end(content);
		await this.#collectLater(removed);
		return removed.length;
	}

	/** Removes the first objects with the prefix. @returns their number. */
	async removePrefix(prefix: string, limit: number): Promise<number> {
		const { blobs } = this.#table.list({ prefix, after: "", limit });
		return this.remove(blobs.map(({ key }) => key));
	}

	/** Deletes everything. Returns the number of objects and contents, or nothing while a store outside still has contents. */
	async erase(): Promise<number | undefined> {
		let deleted = 0;
		for (;;) {
			const { blobs } = this.#table.list({ prefix: "", after: "", limit: COLLECTED_AT_ONCE });
			if (blobs.length === 0) break;
			deleted += await this.remove(blobs.map(({ key }) => key));
		}
		for (;;) {
			const outside = this.#table.nextLoose(COLLECTED_AT_ONCE).filter(({ store }) => store !== "pieces");
			if (outside.length === 0) break;
			if (!(await this.#deleteOutside(outside))) return undefined;
		}
		return eraseObject(this.ctx, { deleted });
	}

	list(query: { prefix: string; after: string; limit: number }): BlobPage {
		return this.#table.list(query);
	}

	usage(): StoreUsage[] {
		return this.#table.usage();
	}

	/** Deletes contents of no object. */
	override async alarm(): Promise<void> {
		for (;;) {
			const now = Date.now();
			const due = this.#table
				.nextLoose(COLLECTED_AT_ONCE)
				.filter(({ collectAt }) => collectAt <= now)
				.filter((place) => !this.#postponed(place));
			if (due.length === 0) break;
			for (const place of due.filter(({ store }) => store === "pieces"))
				await this.#deletePieces(place.content);
			if (!(await this.#deleteOutside(due.filter(({ store }) => store !== "pieces")))) break;
		}
		await this.#schedule();
	}

	/** A content in use is collected later. */
	#postponed(place: LooseContent): boolean {
		const end = this.#live.endOf(place.content);
		if (end !== undefined) this.#table.addLoose({ ...place, collectAt: end });
		return end !== undefined;
	}

	async #deletePieces(content: number): Promise<void> {
		while (!this.#pieces.delete(content, ROWS_AT_ONCE)) await scheduler.wait(0);
		this.#table.deleteLoose(content);
	}

	/** A content that cannot be deleted delays no other. @returns whether all are deleted. */
	async #deleteOutside(places: readonly LooseContent[]): Promise<boolean> {
		let complete = true;
		for (const [store, group] of Map.groupBy(places, (place) => place.store)) {
			if (store === "pieces") continue;
			const deletion = async (some: readonly LooseContent[]): Promise<void> => {
				const contents = this.contentStore(store);
				if (!contents) throw new Error(`the store ${store} is not configured`);
				await contents.abandon?.(namesOf(some.filter(({ incomplete }) => incomplete)));
				await contents.delete(namesOf(some));
				for (const { content } of some) this.#table.deleteLoose(content);
			};
			await deleteTogether(group, deletion, (place) => {
				complete = false;
				this.#pausedUntil = Date.now() + DELETE_AGAIN_MS;
				this.#table.addLoose({ ...place, collectAt: this.#pausedUntil });
			});
		}
		return complete;
	}

	async #commit(key: string, place: ContentPlace, bytes: number): Promise<BlobHead> {
		const { content, store, name } = place;
		const row = { key, content, store, name, bytes, version: String(content), storedAt: Date.now() };
		const replaced = this.#table.put(row);
		if (replaced) await this.#collectLater([replaced]);
		return headOf(row);
	}

	/** Small contents without a reader are deleted at once, the others by the alarm. */
	async #collectLater(places: readonly ContentPlace[]): Promise<void> {
		const now = Date.now();
		let remains = false;
		for (const { content, store, name } of places) {
			const isIdle = this.#live.endOf(content) === undefined;
			if (store === "pieces" && isIdle && this.#pieces.delete(content, ROWS_AT_ONCE)) {
				this.#table.deleteLoose(content);
				continue;
			}
			remains = true;
			this.#table.addLoose({ content, store, name, collectAt: now, incomplete: false });
		}
		if (remains) await this.#schedule();
	}

	async #schedule(): Promise<void> {
		const [next] = this.#table.nextLoose(1);
		if (!next) return;
		const now = Date.now();
		// The clock may have been set back.
		const pausedUntil = Math.min(this.#pausedUntil, now + DELETE_AGAIN_MS);
		const at = Math.max(next.collectAt, this.#live.endOf(next.content) ?? 0, pausedUntil, now);
		await setAlarmBy(this.ctx.storage, at);
	}

	#refusal(store: StoreName, added: number, maxBytes: number): PutRefusal | undefined {
		const stored = this.#table.bytes + this.#live.bytes;
		if (added <= 0 || stored + added <= maxBytes) return undefined;
		this.#table.countRefused(store);
		return { ok: false, reason: "full", stored };
	}

	#nextContent(): number {
		this.#lastContent = Math.max(this.#lastContent + 1, Date.now() * CONTENTS_PER_MS);
		return this.#lastContent;
	}
}

const namesOf = (places: readonly LooseContent[]): string[] => places.flatMap(({ name }) => name ?? []);

function clip(range: BlobRange, bytes: number): { offset: number; length: number } {
	if ("suffix" in range) {
		const length = Math.min(range.suffix, bytes);
		return { offset: bytes - length, length };
	}
	const offset = Math.min(range.offset, bytes);
	return { offset, length: Math.min(range.length ?? bytes, bytes - offset) };
}
