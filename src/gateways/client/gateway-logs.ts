/**
 * An isolate's client of the logs in `Gateway` objects. Rows of {@link WAIT_MS} are sent together, because a call costs more than its rows; rows that
 * arrive while a call is under way are sent in the next one. A row that cannot be sent never affects its request: after some failures the rows of a gateway are dropped and counted.
 */
import { FlushLoop, type FlushServices } from "../../core/flush-loop.ts";
import type { LogRetention } from "../durable/gateway.ts";
import type { LogPage, LogPageQuery, LogPatch } from "../durable/log-table.ts";
import type { Log, LogPayloads, LogRow } from "../logs/log-row.ts";
import type { LogQuery } from "../logs/query.ts";
import { callObject } from "./call-object.ts";

/** A process that is killed loses the rows of this time, and of the call that is under way. */
const WAIT_MS = 50;
const MAX_BATCH_ROWS = 100;
/** Characters of the payloads in a call. A call of an object may have 32 MiB. */
const MAX_BATCH_TEXT = 4 * 1024 * 1024;
/** Of one gateway. Rows beyond these bounds are dropped. */
const MAX_WAITING_ROWS = 10_000;
const MAX_WAITING_TEXT = 16 * 1024 * 1024;

/** Calls of the `Gateway` object about its logs. */
export interface LogCalls {
	append(logs: readonly Log[], retention: LogRetention): Promise<void>;
	log(id: string): Promise<(LogPayloads & { row: LogRow }) | undefined>;
	logs(query: LogPageQuery): Promise<LogPage>;
	patchLog(id: string, patch: LogPatch): Promise<boolean>;
	deleteLogs(query: LogQuery & { limit?: number | undefined }): Promise<number>;
	clear(): Promise<void>;
}

export interface GatewayLogsServices extends FlushServices {
	/** `name`: `account/gateway`. A stub belongs to the request that created it: each call needs a new one. */
	object(name: string): LogCalls;
	/** Rows were dropped, because the object could not be called. */
	failed(cause: unknown): void;
}

interface Outbox {
	logs: Log[];
	retention: LogRetention;
	/** Characters of the payloads. */
	text: number;
	loop: FlushLoop;
}

export class GatewayLogs {
	readonly #services: GatewayLogsServices;
	readonly #outboxes = new Map<string, Outbox>();
	#dropped = 0;

	constructor(services: GatewayLogsServices) {
		this.#services = services;
	}

	/** Rows that were dropped by this isolate. */
	get dropped(): number {
		return this.#dropped;
	}

	/** Never throws. `name`: `account/gateway`. */
	record(name: string, log: Log, retention: LogRetention): void {
		const outbox = this.#outboxes.get(name) ?? this.#open(name, retention);
		const text = textOf(log);
		if (outbox.logs.length >= MAX_WAITING_ROWS || outbox.text + text > MAX_WAITING_TEXT) {
			this.#dropped++;
		} else {
			outbox.logs.push(log);
			outbox.text += text;
		}
		outbox.retention = retention;
		if (outbox.loop.state === undefined) outbox.loop.start(WAIT_MS);
	}

	/** The object of a gateway, for reads and changes. They throw 7009 if it cannot be called. */
	of(account: string, gateway: string): Omit<LogCalls, "append"> {
		const object = (): LogCalls => this.#services.object(`${account}/${gateway}`);
		return {
			log: (id) => callObject(() => object().log(id)),
			logs: (query) => callObject(() => object().logs(query)),
			patchLog: (id, patch) => callObject(() => object().patchLog(id, patch)),
			deleteLogs: (query) => callObject(() => object().deleteLogs(query)),
			clear: () => callObject(() => object().clear()),
		};
	}

	#open(name: string, retention: LogRetention): Outbox {
		const outbox: Outbox = {
			logs: [],
			retention,
			text: 0,
			loop: new FlushLoop(this.#services, {
				step: () => this.#send(name, outbox),
				onGiveUp: (cause) => {
					this.#dropped += outbox.logs.length;
					outbox.logs = [];
					outbox.text = 0;
					this.#services.failed(cause);
				},
				onEnd: () => {
					if (outbox.logs.length === 0 && this.#outboxes.get(name) === outbox) this.#outboxes.delete(name);
				},
			}),
		};
		this.#outboxes.set(name, outbox);
		return outbox;
	}

	async #send(name: string, outbox: Outbox): Promise<number | undefined> {
		const batch = firstBatch(outbox.logs);
		if (batch.length === 0) return undefined;
		await this.#services.object(name).append(batch, outbox.retention);
		const sent = new Set(batch);
		// Another flush may have replaced this one, and sent the same rows.
		outbox.logs = outbox.logs.filter((log) => !sent.has(log));
		outbox.text = outbox.logs.reduce((total, log) => total + textOf(log), 0);
		return outbox.logs.length > 0 ? 0 : undefined;
	}
}

const textOf = ({ request, response }: Log): number =>
	(request?.text.length ?? 0) + (response?.text.length ?? 0);

/** At least one row, if there is any. */
function firstBatch(logs: readonly Log[]): Log[] {
	let text = 0;
	const end = logs.findIndex((log, index) => {
		text += textOf(log);
		return index > 0 && (index === MAX_BATCH_ROWS || text > MAX_BATCH_TEXT);
	});
	return logs.slice(0, end < 0 ? logs.length : end);
}
