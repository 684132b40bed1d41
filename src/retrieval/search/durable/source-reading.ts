/**
 * The part of the `SearchInstance` object that reads a source for a job. The durable queue calls it: each call is one commit, so a process
 * that is killed continues with the places that wait.
 */
import { RpcTarget } from "cloudflare:workers";
import { MAX_ITEMS } from "../limits.ts";
import type { NewItem, SearchItem } from "../records.ts";
import type { NewPlace, PlaceCounts, PlaceEnd, PlaceTable, SourcePlace } from "./place-table.ts";
import { removeItem, type SearchTables } from "./search-tables.ts";

/** Errors that the same bytes have again. */
const FINAL: ReadonlySet<string> = new Set(["unsupported_type", "over_size", "file_content_empty"]);
/** Items of one call. */
const DELETED = 200;

/** An item of a place. `id`: if it is new. */
export interface PlacedItem {
	place: string;
	id: string;
	item: NewItem;
	/** Why it is not indexed. */
	unsupported?: string;
}

interface ReadingServices {
	tables: SearchTables;
	/** Runs it in one commit. */
	commit<Value>(work: () => Value): Value;
	/** Items are queued or deleted. */
	changed(): Promise<void>;
}

export class SourceReading extends RpcTarget {
	readonly #places: PlaceTable;
	readonly #services: ReadingServices;

	constructor(services: ReadingServices) {
		super();
		this.#services = services;
		this.#places = services.tables.places;
	}

	/** The next places. `undefined`: the job has ended. */
	next(job: string, limit: number): { places: SourcePlace[]; counts: PlaceCounts } | undefined {
		if (!this.#isReading(job)) return undefined;
		return { places: this.#places.waiting(job, limit), counts: this.#places.counts(job) };
	}

	/** `limit`: of all places of the job. */
	add(job: string, places: readonly NewPlace[], limit: number): void {
		this.#services.commit(() => this.#places.add(job, places, limit));
	}

	/** Places are read, with the links that they have. `limit`: of all places of the job. */
	end(
		job: string,
		ends: readonly PlaceEnd[],
		{ limit, links, now }: { links: readonly NewPlace[]; limit: number; now: number },
	): void {
		if (!this.#isReading(job)) return;
		const { jobs } = this.#services.tables;
		this.#services.commit(() => {
			for (const end of ends) {
				this.#places.end(end);
				jobs.note(job, { now, ...(end.error !== undefined && { error: `${end.place}: ${end.error}` }) });
			}
			this.#places.add(job, links, limit);
		});
	}

	/** Stores items of places, in one commit. The caller queues those without an error. `replaced`: the content before. */
	async put(
		job: string,
		found: readonly PlacedItem[],
		now: number,
	): Promise<{ id: string; revision: number; replaced?: string }[] | "full" | "ended"> {
		if (!this.#isReading(job)) return "ended";
		const { items, logs } = this.#services.tables;
		const isNew = found.filter(({ item }) => !items.byKey(item.key)).length;
		if (items.count + isNew > MAX_ITEMS) return "full";
		const stored = this.#services.commit(() =>
			found.map(({ id, item, place, unsupported }) => {
				const before = items.byKey(item.key);
				const error = unsupported === undefined ? {} : { error: unsupported };
				const one = items.put(id, item, now, { job, ...error });
				this.#places.setItem(place, one.id);
				const message =
					unsupported === undefined ? "The source has a new version" : "The file is not indexed";
				logs.addItemLog(one.id, { timestamp: now, action: "queued", message });
				return { id: one.id, revision: one.revision, ...(before && { replaced: before.content }) };
			}),
		);
		await this.#services.changed();
		return stored;
	}

	/** Whether the items of places have these bytes, and are indexed or will be. Those are seen. */
	same(found: readonly { place: string; key: string; checksum: string }[], now: number): boolean[] {
		const { items } = this.#services.tables;
		return this.#services.commit(() =>
			found.map(({ checksum, key, place }) => {
				const item = items.byKey(key);
				if (!item || item.checksum !== checksum || (item.error !== undefined && !FINAL.has(item.error)))
					return false;
				items.seen(item.id, now);
				this.#places.setItem(place, item.id);
				return true;
			}),
		);
	}

	/**
	 * The source is read, or could not be read for the reason. Without a reason, the items of places that are gone are deleted, some of them
	 * in each call: it is called again until `isDone`.
	 */
	async finish(
		job: string,
		{ now, reason }: { now: number; reason?: string },
	): Promise<{ deleted: SearchItem[]; isDone: boolean }> {
		if (!this.#isReading(job)) return { deleted: [], isDone: true };
		const { tables } = this.#services;
		const { items, jobs } = tables;
		const obsolete = reason === undefined ? this.#places.obsolete(job, DELETED) : [];
		const isDone = obsolete.length < DELETED;
		const deleted = this.#services.commit(() => {
			const removed = obsolete.flatMap(({ item, place }) => {
				this.#places.delete(place);
				const found = item === null ? undefined : items.get(item);
				if (!found) return [];
				removeItem(found.id, tables);
				return [found];
			});
			if (isDone) jobs.endReading(job, now, reason);
			return removed;
		});
		await this.#services.changed();
		return { deleted, isDone };
	}

	#isReading(id: string): boolean {
		const job = this.#services.tables.logs.job(id);
		return job?.endedAt === undefined && job?.isReading === true;
	}
}
