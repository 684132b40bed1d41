/**
 * The event of a batch that has ended, as an item of the durable queue for each receiver: so each receives it at least once, also if the process
 * is killed. The names and the form are those of OpenAI's webhooks; for Gemini's batches the names of Gemini's.
 */
import type { NewWork } from "../../storage/queue/work.ts";
import type { JobsServices } from "../services.ts";
import type { BatchApi, BatchRecord, BatchStatus } from "./records.ts";
import { webhookOf } from "./settings.ts";

export const EVENTS_KIND = "batch-events";

const SECOND_MS = 1_000;

export interface BatchEvent {
	id: string;
	object: "event";
	/** Such as `batch.completed`. */
	type: string;
	/** Epoch seconds. */
	created_at: number;
	/** The id as the API of the batch shows it. */
	data: { id: string };
}

/** Who receives an event: the queue of the binding `BATCH_EVENTS`, or the account's webhook. */
export type EventReceiver = "queue" | "webhook";

export interface EventPayload {
	receiver: EventReceiver;
	event: BatchEvent;
}

/** A replay belongs to no API of batches. The console shows its end. */
const WITHOUT_EVENTS: ReadonlySet<BatchApi> = new Set<BatchApi>(["replay"]);

const typeOf = (api: BatchApi, status: BatchStatus): string =>
	`batch.${api === "gemini" && status === "completed" ? "succeeded" : status}`;

const shownId = ({ api, id }: Pick<BatchRecord, "api" | "id">): string =>
	api === "gemini" ? `batches/${id}` : id;

/** `record`: has ended. The id of the event is always the same, so that a receiver notices a second delivery. */
export const eventOf = (record: BatchRecord): BatchEvent => ({
	id: `evt_${record.id}`,
	object: "event",
	type: typeOf(record.api, record.status),
	created_at: Math.floor((record.endedAt ?? record.createdAt) / SECOND_MS),
	data: { id: shownId(record) },
});

/** Who receives the events of the account. */
export const receiversOf = (
	account: string,
	{ batchEvents, jobSettings }: Pick<JobsServices, "batchEvents" | "jobSettings">,
): EventReceiver[] => [
	...(batchEvents ? (["queue"] as const) : []),
	...(webhookOf(jobSettings, account) ? (["webhook"] as const) : []),
];

/** Puts the event of a batch into the queue, if the batch has ended. The queue ignores an item that it has. */
export async function announceEnd(
	account: string,
	batch: string,
	services: Pick<JobsServices, "batchEvents" | "jobSettings" | "jobs" | "storage">,
): Promise<void> {
	const receivers = receiversOf(account, services);
	if (receivers.length === 0) return;
	const record = await services.jobs.runs(account, (runs) => runs.ended(batch));
	if (!record || WITHOUT_EVENTS.has(record.api)) return;
	const event = eventOf(record);
	await services.storage.queue.enqueue(
		receivers.map((receiver): NewWork => {
			const payload: EventPayload = { receiver, event };
			return { account, kind: EVENTS_KIND, key: `${batch}/${receiver}`, payload };
		}),
	);
}
