/** The responses of an account that run in the background. A part of the `ResponseStore` object. */
import { RpcTarget } from "cloudflare:workers";
import { present } from "../../core/present.ts";
import type {
	EventBatch,
	Found,
	NewBackground,
	ResponseRecord,
	Saved,
	Scope,
	StartedRun,
	StoreBounds,
	StoredResponse,
} from "../records.ts";
import { replay } from "./event-replay.ts";
import { bytesOfBatch } from "./event-table.ts";
import { hasEnded, inputOf } from "./response-table.ts";
import { bytesOf, type StoreTables } from "./store-tables.ts";

export class BackgroundRuns extends RpcTarget {
	readonly #tables: StoreTables;

	constructor(tables: StoreTables) {
		super();
		this.#tables = tables;
	}

	/** Stores a response that will run. */
	async enqueue(record: NewBackground, bounds: StoreBounds): Promise<Saved> {
		const { account, request, isStream, ...queued } = record;
		const requestBytes = Buffer.byteLength(request);
		const why = this.#tables.fullness({ bytes: bytesOf(queued) + requestBytes, rows: 1 }, bounds);
		if (why) return { ok: false, why };
		this.#tables.write({ ...queued, status: "queued" }, bounds, { background: 1 });
		this.#tables.runs.insert(record.id, request, { account, now: Date.now() });
		this.#tables.usage.bytes += requestBytes;
		if (isStream) this.#tables.events.open(record.id);
		await this.#tables.schedule();
		return { ok: true };
	}

	/** Starts a run. `undefined`: the response has ended. */
	begin(id: string, ticket: string, { retentionMs }: StoreBounds): StartedRun | undefined {
		const { events, items, responses, runs } = this.#tables;
		const row = responses.get(id, Date.now());
		const run = runs.get(id);
		if (!row || !run) return undefined;
		const { owner, created_at: createdAt, previous, conversation } = row;
		const firstSequence = runs.restart(id, ticket, events.nextSequence(id));
		this.#tables.usage.bytes -= events.clear(id);
		const json = withStatus(row.json, "in_progress");
		this.#tables.rewrite(row, { json, status: "in_progress" });
		const before = this.#tables.before(
			present({ previous, conversation }),
			{ owner, all: true },
			retentionMs,
		);
		return {
			...{ owner, createdAt, json, firstSequence, before },
			own: items.ofRange(inputOf(row)),
			request: run.request,
			attempt: run.attempts + 1,
			...(run.ticket !== undefined && { interrupted: run.ticket }),
		};
	}

	/** Adds events of a run. `gone`: the response was cancelled or deleted. */
	append(id: string, { ticket, batch }: { ticket: string; batch: EventBatch }, bounds: StoreBounds): Saved {
		const { events, runs, usage } = this.#tables;
		if (runs.get(id)?.ticket !== ticket) return { ok: false, why: "gone" };
		if (events.isStream(id)) {
			const why = this.#tables.fullness({ bytes: 1, rows: 0 }, bounds);
			if (why) return { ok: false, why };
			events.append(id, batch);
			usage.bytes += bytesOfBatch(batch);
		}
		this.#tables.wake(id);
		return { ok: true };
	}

	/** Resolves when the run is not wanted any more, or has ended. */
	async ended(id: string, ticket: string): Promise<void> {
		while (this.#tables.runs.get(id)?.ticket === ticket) await this.#tables.change(id);
	}

	/** Stores the end of a run, with its last events. `gone`: the response was cancelled or deleted. An end without output is stored in any case. */
	async finish(
		{ id, status, json, output }: Pick<ResponseRecord, "id" | "status" | "json" | "output">,
		{ ticket, last }: { ticket: string; last?: EventBatch | undefined },
		bounds: StoreBounds,
	): Promise<Saved> {
		const { events, items, responses, runs, usage } = this.#tables;
		const row = responses.get(id, Date.now());
		if (!row || runs.get(id)?.ticket !== ticket) return { ok: false, why: "gone" };
		const lastEvents = events.isStream(id) ? last : undefined;
		const lastBytes = lastEvents ? bytesOfBatch(lastEvents) : 0;
		if (output.length > 0) {
			const why = this.#tables.fullness({ bytes: 1, rows: 0 }, bounds);
			if (why) return { ok: false, why };
		}
		if (lastEvents) events.append(id, lastEvents);
		usage.bytes += lastBytes;
		const { owner } = row;
		const conversation = this.#tables.joined({
			conversation: row.conversation ?? undefined,
			owner,
			status,
		});
		if (conversation !== undefined) items.join(inputOf(row), conversation);
		const after = items.insert(output, { owner, conversation, held: true });
		this.#tables.rewrite(row, { output_from: after.first, output_to: after.last, status, json });
		usage.items += output.length;
		usage.bytes += after.bytes;
		await this.#end(id);
		return { ok: true };
	}

	/** `synchronous`: the response did not run in the background. A response that has ended stays as it is. */
	async cancel(id: string, scope: Scope): Promise<Found<StoredResponse | "synchronous">> {
		const { responses } = this.#tables;
		const found = responses.find(id, scope, Date.now());
		if (!found.ok) return found;
		const row = found.value;
		if (!row.background) return { ok: true, value: "synchronous" };
		if (hasEnded(row)) return { ok: true, value: this.#tables.stored(row) };
		this.#tables.rewrite(row, { json: withStatus(row.json, "cancelled"), status: "cancelled" });
		await this.#end(id);
		const cancelled = responses.get(id, Date.now());
		return { ok: true, value: this.#tables.stored(cancelled ?? row) };
	}

	async #end(id: string): Promise<void> {
		const { events, runs, usage } = this.#tables;
		usage.bytes -= runs.delete(id);
		events.end(id, Date.now());
		this.#tables.wake(id);
		await this.#tables.schedule();
	}

	/** Server-sent events after number `after`, and the later ones when they arrive. `undefined`: the response has no events. */
	events(id: string, after: number, scope: Scope): Found<ReadableStream<Uint8Array> | undefined> {
		const { events, responses, runs } = this.#tables;
		const found = responses.find(id, scope, Date.now());
		if (!found.ok) return found;
		if (!events.isStream(id)) return { ok: true, value: undefined };
		const stream = replay(after, {
			start: events.rowOf(id, after + 1),
			rows: (from) => events.rowsFrom(id, from),
			isLive: () => runs.get(id) !== undefined,
			change: () => this.#tables.change(id),
		});
		return { ok: true, value: stream };
	}
}

const withStatus = (json: string, status: "in_progress" | "cancelled"): string =>
	JSON.stringify({ ...JSON.parse(json), status });
