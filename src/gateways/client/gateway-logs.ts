/**
 * An isolate's client of the logs in `Gateway` objects. A call costs as much as many rows, so the rows of {@link WAIT_MS} are sent
 * together, or those of {@link BUSY_WAIT_MS} if there are many, or of a longer time while the runtime is behind. A row that cannot be
 * sent never affects its request. After some failures, or if too many rows wait, the rows of a gateway are dropped and counted.
 */
import { type DeletedAccounts, isAccountDeleted } from "../../core/deleted-accounts.ts";
import { diskSpace } from "../../core/disk-space.ts";
import { type Flushes, FlushSchedule, type FlushServices } from "../../core/flush-schedule.ts";
import { counter, type Metric } from "../../core/metric.ts";
import { bufferedBytes } from "../../core/process-counts.ts";
import { CounterSeries } from "../../core/series.ts";
import type {
	ComparisonPage,
	ComparisonPageQuery,
	ComparisonSource,
	NewComparison,
} from "../comparisons/records.ts";
import type { LogPage, LogPageQuery, LogPatch } from "../durable/log-table.ts";
import type { LogRetention } from "../logs/collection.ts";
import { batchOf, type LogBatch } from "../logs/log-batch.ts";
import {
	type Log,
	type LogPayloads,
	type LogRow,
	PAYLOAD_PARTS,
	type Payload,
	type PayloadPart,
} from "../logs/log-row.ts";
import type { LogQuery } from "../logs/query.ts";
import { accountIn } from "../object-name.ts";
import { callObject } from "./call-object.ts";

const WAIT_MS = 50;
/** After a call with {@link BUSY_ROWS}. A process that is killed loses the rows of this time, and of the call that is under way. */
const BUSY_WAIT_MS = 200;
const BUSY_ROWS = 10;
const MAX_BATCH_ROWS = 500;
/**
 * Characters of the payloads and metadata in a call ({@link textOf}). A call of an object may have 32 MiB, and a character up to 6
 * bytes of JSON.
 */
const MAX_BATCH_TEXT = 4 * 1024 * 1024;
/** Of one gateway. Rows beyond this bound are dropped. */
const MAX_WAITING_ROWS = 10_000;
/** Of one gateway. Rows beyond this bound lose their payloads, and are dropped if their metadata alone exceeds it. */
const MAX_WAITING_TEXT = 16 * 1024 * 1024;
const MAX_LABEL_SETS = 1_000;

/** Why rows or contents were dropped. `disk`: only the reserve is left. `full`: too many wait. `unreachable`: an object, or the bucket. */
type DropReason = "disk" | "full" | "unreachable";

/** Calls of the `Gateway` object about its logs. */
export interface LogCalls {
	/** Returns the number of payloads that could not be stored. */
	append(batch: LogBatch, retention: LogRetention): Promise<number>;
	log(id: string): Promise<(LogPayloads & { row: LogRow }) | undefined>;
	/** The complete payload, if it exists. */
	payload(id: string, part: PayloadPart): Promise<Payload | undefined>;
	logs(query: LogPageQuery): Promise<LogPage>;
	patchLog(id: string, patch: LogPatch): Promise<boolean>;
	deleteLogs(query: LogQuery & { limit?: number | undefined }): Promise<number>;
	clear(createdAt?: number): Promise<void>;
	replayable(query: LogQuery, limit: number): Promise<string[]>;
	addComparisons(
		source: string,
		comparisons: readonly NewComparison[],
		retention: LogRetention,
	): Promise<void>;
	comparisons(query: ComparisonPageQuery): Promise<ComparisonPage>;
	comparisonSources(beginning: string): Promise<ComparisonSource[]>;
	deleteComparisons(source: string): Promise<void>;
}

interface GatewayLogsServices extends FlushServices {
	/** `name`: `account/gateway`. A stub belongs to the request that created it: each call needs a new one. */
	object(name: string): LogCalls;
	/** Rows or payloads were dropped, because an object or the bucket could not be called. */
	failed(cause: unknown): void;
	/** Characters of a payload that are kept. */
	maxPayload: number;
	/** Absent: no account is deleted. */
	deletedAccounts?: Pick<DeletedAccounts, "has">;
	/** The time until the next call of an object, at least `leastMs`: longer while the thread is behind. */
	pause(leastMs: number): number;
}

/** The logs of one gateway that wait. Their texts count as buffered bytes of the account. */
class WaitingLogs {
	retention: LogRetention;
	#logs: Log[] = [];
	readonly flushes: Flushes;
	readonly #account: string;
	/** Characters of the payloads and metadata. */
	#text = 0;

	/** `name`: `account/gateway`. */
	constructor(name: string, retention: LogRetention, flushes: Flushes) {
		this.retention = retention;
		this.flushes = flushes;
		this.#account = accountIn(name);
	}

	/** The oldest is first. */
	get logs(): readonly Log[] {
		return this.#logs;
	}

	/** Returns whether the log was added. */
	tryAdd(log: Log): boolean {
		const text = textOf(log);
		if (this.logs.length >= MAX_WAITING_ROWS || this.#text + text > MAX_WAITING_TEXT) return false;
		if (text > 0 && !bufferedBytes.tryTake(this.#account, text)) return false;
		this.#text += text;
		this.#logs.push(log);
		return true;
	}

	/** Drops the others. */
	keep(isKept: (log: Log) => boolean): void {
		const before = this.#text;
		this.#logs = this.#logs.filter(isKept);
		this.#text = this.#logs.reduce((total, log) => total + textOf(log), 0);
		if (before > this.#text) bufferedBytes.release(this.#account, before - this.#text);
	}
}

export class GatewayLogs {
	readonly #services: GatewayLogsServices;
	readonly #outboxes = new Map<string, WaitingLogs>();
	readonly #drops = new CounterSeries({ names: ["account", "kind", "reason"], max: MAX_LABEL_SETS });

	constructor(services: GatewayLogsServices) {
		this.#services = services;
	}

	/** Characters of a payload that are kept. */
	get maxPayload(): number {
		return this.#services.maxPayload;
	}

	metrics(): Metric[] {
		return [
			counter(
				"dropped_logs_total",
				"Logs, and contents of logs (request or response), that were not stored. disk: only the reserve of the disk is left. full: too many waited. unreachable: the object or the bucket did not answer.",
				this.#drops.samples(),
			),
		];
	}

	#countRows(name: string, reason: DropReason, rows = 1): void {
		this.#drops.add([accountIn(name), "log", reason], rows);
	}

	#countPayloads(name: string, reason: DropReason, payloads: number): void {
		if (payloads === 0) return;
		this.#drops.add([accountIn(name), "contents", reason], payloads);
	}

	/** Never throws. `name`: `account/gateway`. */
	record(name: string, log: Log, retention: LogRetention): void {
		if (this.#services.deletedAccounts?.has(accountIn(name))) return;
		if (!diskSpace.mayWrite()) {
			this.#countRows(name, "disk");
			return;
		}
		// A gateway that is deleted and created again is another one.
		const key = `${name} ${retention.createdAt}`;
		const outbox = this.#outboxes.get(key) ?? this.#open(key, name, retention);
		const kept = [log, { row: log.row }].find((one) => outbox.tryAdd(one));
		if (kept) this.#countPayloads(name, "full", payloadsOf(log) - payloadsOf(kept));
		else this.#countRows(name, "full");
		outbox.retention = retention;
		if (outbox.flushes.state === undefined) outbox.flushes.start(this.#services.pause(WAIT_MS));
	}

	/** The object of a gateway, for reads and changes. They throw 7009 if it cannot be called. */
	of(account: string, gateway: string): Omit<LogCalls, "append"> {
		const object = (): LogCalls => this.#services.object(`${account}/${gateway}`);
		return {
			log: (id) => callObject(() => object().log(id)),
			payload: (id, part) => callObject(() => object().payload(id, part)),
			logs: (query) => callObject(() => object().logs(query)),
			patchLog: (id, patch) => callObject(() => object().patchLog(id, patch)),
			deleteLogs: (query) => callObject(() => object().deleteLogs(query)),
			clear: (createdAt) => callObject(() => object().clear(createdAt)),
			replayable: (query, limit) => callObject(() => object().replayable(query, limit)),
			addComparisons: (source, comparisons, retention) =>
				callObject(() => object().addComparisons(source, comparisons, retention)),
			comparisons: (query) => callObject(() => object().comparisons(query)),
			comparisonSources: (beginning) => callObject(() => object().comparisonSources(beginning)),
			deleteComparisons: (source) => callObject(() => object().deleteComparisons(source)),
		};
	}

	#open(key: string, name: string, retention: LogRetention): WaitingLogs {
		const flushes = new FlushSchedule(this.#services).flushesOf({
			step: () => this.#send(name, outbox),
			onGiveUp: (cause) => {
				if (!isAccountDeleted(cause)) this.#countRows(name, "unreachable", outbox.logs.length);
				outbox.keep(() => false);
				this.#services.failed(cause);
			},
			onEnd: () => {
				if (outbox.logs.length === 0 && this.#outboxes.get(key) === outbox) this.#outboxes.delete(key);
			},
		});
		const outbox = new WaitingLogs(name, retention, flushes);
		this.#outboxes.set(key, outbox);
		return outbox;
	}

	async #send(name: string, outbox: WaitingLogs): Promise<number | undefined> {
		const batch = firstBatch(outbox.logs);
		if (batch.length === 0) return undefined;
		const isBacklog = batch.length < outbox.logs.length;
		const lost = await this.#services.object(name).append(batchOf(batch), outbox.retention);
		if (lost > 0) {
			this.#countPayloads(name, "unreachable", lost);
			this.#services.failed(new Error(`The bucket did not store ${lost} payloads of logs`));
		}
		const sent = new Set(batch);
		// Another flush may have replaced this one, and sent the same rows.
		outbox.keep((log) => !sent.has(log));
		if (isBacklog) return 0;
		const { pause } = this.#services;
		if (batch.length >= BUSY_ROWS) return pause(BUSY_WAIT_MS);
		return outbox.logs.length > 0 ? pause(WAIT_MS) : undefined;
	}
}

/** A batch has the metadata twice: in the row, and as keys and values. All other fields of a row are short. */
const textOf = ({ row, request, response }: Log): number =>
	2 * (row.metadata?.length ?? 0) + (request?.text.length ?? 0) + (response?.text.length ?? 0);

const payloadsOf = (log: Log): number => PAYLOAD_PARTS.filter((part) => log[part]).length;

/** At least one row, if there is any. */
function firstBatch(logs: readonly Log[]): Log[] {
	let text = 0;
	const end = logs.findIndex((log, index) => {
		text += textOf(log);
		return index > 0 && (index === MAX_BATCH_ROWS || text > MAX_BATCH_TEXT);
	});
	return logs.slice(0, end < 0 ? logs.length : end);
}
