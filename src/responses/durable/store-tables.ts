/** The tables of a `ResponseStore` object, and what its parts have in common. */
import { setAlarmBy } from "../../core/earliest-alarm.ts";
import type { WorkId } from "../../storage/queue/work.ts";
import { backgroundItem } from "../background-item.ts";
import { MAX_CONTEXT_BYTES } from "../context-bytes.ts";
import type {
	ContextQuery,
	Found,
	Fullness,
	ItemRecord,
	ResponseRecord,
	ResponseStatus,
	ResponseStoreUsage,
	Scope,
	StoreBounds,
	StoredResponse,
	StoreRoom,
} from "../records.ts";
import { ConversationTable } from "./conversation-table.ts";
import { EventTable } from "./event-table.ts";
import { type Freed, itemBytes, ROW_BYTES } from "./item-rows.ts";
import { ItemTable } from "./item-table.ts";
import { LongTexts } from "./long-texts.ts";
import { hasEnded, inputOf, outputOf, type ResponseRow, ResponseTable } from "./response-table.ts";
import { ENQUEUE_AFTER_MS, RunTable } from "./run-table.ts";
import { afterSummary, SummarizedItems } from "./summarized-items.ts";

/** Responses that the alarm deletes in one commit. */
const EXPIRED_AT_ONCE = 200;

/** The stored bytes of a new response with its items. */
export const bytesOf = ({ json, input, output = [] }: NewResponse): number =>
	Buffer.byteLength(json) + ROW_BYTES + itemBytes([...input, ...output]);

type NewResponse = Omit<ResponseRecord, "status" | "output"> & { output?: readonly ItemRecord[] };

export class StoreTables {
	readonly responses: ResponseTable;
	readonly items: ItemTable;
	readonly summarized: SummarizedItems;
	readonly conversations: ConversationTable;
	readonly runs: RunTable;
	readonly events: EventTable;
	readonly usage: ResponseStoreUsage;
	readonly #storage: DurableObjectStorage;
	/** Readers of events, and runs that wait for their cancellation, by response. */
	readonly #waiting = new Map<string, Set<() => void>>();

	constructor(storage: DurableObjectStorage) {
		const { sql } = storage;
		const texts = new LongTexts(sql);
		this.#storage = storage;
		this.responses = new ResponseTable(sql, texts);
		this.items = new ItemTable(sql, texts);
		this.summarized = new SummarizedItems(sql, texts);
		this.conversations = new ConversationTable(sql);
		this.runs = new RunTable(sql, texts);
		this.events = new EventTable(sql);
		const { responses, bytes } = this.responses.totals();
		const { items, bytes: itemBytes } = this.items.totals();
		this.usage = {
			responses,
			items,
			conversations: this.conversations.count(),
			bytes: bytes + itemBytes + this.runs.totalBytes() + this.events.totalBytes(),
		};
	}

	room({ maxBytes, maxResponses }: StoreBounds): StoreRoom {
		const { bytes, conversations, responses } = this.usage;
		return { bytes: maxBytes - bytes, responses: maxResponses - responses - conversations };
	}

	/** Why the account cannot store so many bytes and rows further. `undefined`: it can. `rows`: responses and conversations. */
	fullness(added: { bytes: number; rows: 0 | 1 }, bounds: StoreBounds): Fullness | undefined {
		const { bytes, responses } = this.room(bounds);
		if (added.bytes > bytes) return "bytes";
		return added.rows > responses ? "responses" : undefined;
	}

	/**
	 * The items that come before the input of a request, without those that a summary replaces. A response that is continued is kept longer.
	 */
	before(
		{ previous, conversation }: Omit<ContextQuery, "items">,
		scope: Scope,
		retentionMs: number,
	): Found<string[]> {
		if (conversation !== undefined) {
			const found = this.conversations.find(conversation, scope);
			if (!found.ok) return found;
			const from = this.summarized.lastSummary(conversation) ?? 0;
			if (this.items.bytesOf(conversation, from) > MAX_CONTEXT_BYTES)
				return { ok: false, missing: { kind: "conversation", id: conversation, tooLarge: true } };
			const kept = this.items.ofConversation(conversation, from);
			return kept.ok
				? { ok: true, value: [...this.summarized.rulesBefore(conversation, from), ...kept.value] }
				: kept;
		}
		if (previous === undefined) return { ok: true, value: [] };
		const now = Date.now();
		const chain = this.responses.chain(previous, scope, now);
		if (!chain.ok) return chain;
		if (!chain.value.every(hasEnded))
			return { ok: false, missing: { kind: "response", id: previous, pending: true } };
		this.responses.keep(chain.value, now + retentionMs);
		const before: string[][] = [];
		let bytes = 0;
		let isSummarized = false;
		for (const range of chain.value.flatMap((row) => [inputOf(row), outputOf(row)]).reverse()) {
			if (isSummarized) {
				before.push(this.summarized.rulesBefore(range));
				continue;
			}
			bytes += this.items.bytesOf(range);
			if (bytes > MAX_CONTEXT_BYTES)
				return { ok: false, missing: { kind: "response", id: previous, tooLarge: true } };
			const found = this.items.ofRange(range);
			if (!found.ok) return found;
			const kept = afterSummary(found.value);
			isSummarized = kept !== undefined;
			before.push(kept ?? found.value);
		}
		return { ok: true, value: before.reverse().flat() };
	}

	/** Writes a new response with its items. `expiresAt`: epoch milliseconds. */
	write(
		record: NewResponse & Pick<ResponseRecord, "status">,
		{ retentionMs }: Pick<StoreBounds, "retentionMs">,
		{ background }: { background: 0 | 1 },
	): { expiresAt: number } {
		const { id, owner, status, previous, createdAt, json, input, output = [] } = record;
		const placed = { owner, conversation: this.joined(record), held: true };
		const before = this.items.insert(input, placed);
		const after = this.items.insert(output, placed);
		const bytes = Buffer.byteLength(json) + ROW_BYTES;
		const expiresAt = Date.now() + retentionMs;
		this.responses.write({
			...{ id, owner, bytes, status, json, background },
			previous: previous ?? null,
			conversation: record.conversation ?? null,
			created_at: createdAt,
			expires_at: expiresAt,
			...{ input_from: before.first, input_to: before.last },
			...{ output_from: after.first, output_to: after.last },
		});
		this.usage.responses++;
		this.usage.items += input.length + output.length;
		this.usage.bytes += bytes + before.bytes + after.bytes;
		return { expiresAt };
	}

	/** Changes a response, with its size. */
	rewrite(row: ResponseRow, changed: Partial<ResponseRow> & { json: string; status: ResponseStatus }): void {
		const bytes = Buffer.byteLength(changed.json) + ROW_BYTES;
		this.usage.bytes += bytes - row.bytes;
		this.responses.write({ ...row, ...changed, bytes });
	}

	/** The conversation that gets the items of a response: it exists, and the response has an answer. */
	joined({
		conversation,
		owner,
		status,
	}: Pick<ResponseRecord, "conversation" | "owner" | "status">): string | undefined {
		if (conversation === undefined || (status !== "completed" && status !== "incomplete")) return undefined;
		return this.conversations.find(conversation, { owner, all: true }).ok ? conversation : undefined;
	}

	stored(row: ResponseRow): StoredResponse {
		const { id, owner, status, created_at, json } = row;
		const output = this.items.ofRange(outputOf(row));
		return { id, owner, status, createdAt: created_at, json, output: output.ok ? output.value : [] };
	}

	delete(row: ResponseRow): void {
		for (const range of [inputOf(row), outputOf(row)]) this.free(this.items.release(range));
		this.responses.delete(row.id);
		this.usage.responses--;
		this.usage.bytes -= row.bytes + this.runs.delete(row.id) + this.events.delete(row.id);
		this.wake(row.id);
	}

	free({ bytes, items }: Freed): void {
		this.usage.bytes -= bytes;
		this.usage.items -= items;
	}

	deleteExpired(now: number): void {
		for (const row of this.responses.expired(now, EXPIRED_AT_ONCE)) this.delete(row);
		this.usage.bytes -= this.events.deleteExpired(now);
	}

	/** Puts responses into the queue whose process may have ended before it did that. The queue ignores those that it has. */
	async enqueueAgain(now: number, enqueue: (items: WorkId[]) => Promise<unknown>): Promise<void> {
		const unqueued = this.runs.unqueued(now);
		if (unqueued.length === 0) return;
		const responses = unqueued.map(({ response }) => response);
		try {
			await enqueue(unqueued.map(({ account, response }) => backgroundItem(account, response)));
			this.runs.enqueued(responses);
		} catch {
			// The queue is full or unreachable.
			this.runs.postpone(responses, now + ENQUEUE_AFTER_MS);
		}
	}

	/** Sets the alarm to the first expiry, or to the time when responses must be in the queue. */
	async schedule(): Promise<void> {
		const times = [this.responses.nextExpiry(), this.events.nextExpiry(), this.runs.nextEnqueue()];
		await this.scheduleAt(Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY)));
	}

	/** Sets the alarm to this time, unless there is an earlier one. */
	scheduleAt(time: number): Promise<void> {
		return setAlarmBy(this.#storage, time);
	}

	/** Resolves at the next change of a response that has not ended. */
	change(id: string): Promise<void> {
		const waiting = this.#waiting.get(id) ?? new Set();
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#waiting.set(id, waiting.add(resolve));
		return promise;
	}

	wake(id: string): void {
		const waiting = this.#waiting.get(id);
		this.#waiting.delete(id);
		for (const resolve of waiting ?? []) resolve();
	}
}
