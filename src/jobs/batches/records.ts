/** A batch and its lines, as messages between the isolates and the `JobStore` object. Plain data, because they cross RPC. */
import type { Settlement } from "../../accounts/admission.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { FileRecord } from "../records.ts";

/**
 * validating -> in_progress -> finalizing -> completed. A file with mistakes: validating -> failed. A cancelled batch:
 * cancelling -> cancelled. At the end of its time: -> expired.
 */
export type BatchStatus =
	| "validating"
	| "failed"
	| "in_progress"
	| "finalizing"
	| "completed"
	| "expired"
	| "cancelling"
	| "cancelled";

/** The API whose routes show the batch. */
export type BatchApi = "openai" | "anthropic" | "gemini" | "workers-ai" | "replay";

/** A mistake in the input file. `line`: counted from 1. */
export interface BatchMistake {
	code: string;
	message: string;
	line?: number;
	param?: string;
}

export interface BatchUsage {
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	reasoningTokens: number;
	/** What the account pays, with the discounts. */
	microNeurons: number;
	/** Without the discounts. */
	fullMicroNeurons: number;
}

/** Why no line starts. `until`: epoch milliseconds. */
export interface BatchWait {
	code: number;
	message: string;
	until: number;
}

/** Times are epoch milliseconds. */
export interface BatchRecord {
	id: string;
	owner: string;
	api: BatchApi;
	/** The path of the route that answers the lines, such as `/chat/completions`. */
	endpoint: string;
	/** The key of the stored object with the lines. */
	inputKey: string;
	/** Absent: the lines were sent with the request that created the batch. */
	inputFile?: string;
	status: BatchStatus;
	/** The model of all lines. Absent before the validation, and if the lines may have different ones. */
	model?: string;
	createdAt: number;
	/** Lines that have not ended then never start. */
	expiresAt: number;
	inProgressAt?: number;
	cancellingAt?: number;
	finalizingAt?: number;
	endedAt?: number;
	/** Lines; those with a successful answer; those with a failure. */
	total: number;
	succeeded: number;
	failed: number;
	/** Lines that had not started when the batch was cancelled or its time was over. */
	unfinished: number;
	/** Ids of the files of results. They exist when the batch has ended. */
	outputFile?: string;
	errorFile?: string;
	/** Milliseconds that the files of results are kept. */
	outputExpiryMs?: number;
	mistakes: BatchMistake[];
	usage: BatchUsage;
	metadata?: Record<string, string>;
	/** Of a replay: the gateway of its logs, and the model that judges the answers. */
	replay?: { gateway: string; judge?: string };
	waiting?: BatchWait;
}

/** Who runs the lines, and how. JSON in the store. */
export interface BatchRequest {
	caller: Pick<Caller, "account" | "credential">;
	/** Headers that choose the gateway and the options of the lines. */
	headers: [string, string][];
}

/** `offset`, `length`: the bytes of the line in the input. */
export interface NewLine {
	line: number;
	customId: string;
	offset: number;
	length: number;
}

export interface ClaimedLine extends NewLine {
	/** The request id of this run. The account's ticket. */
	ticket: string;
	/** Runs before that have failed. */
	attempts: number;
}

/** The end of the run of a line. */
export interface LineEnd {
	line: number;
	ticket: string;
	/** Bills of the run. They are stored in the same commit as the result. */
	settlements: readonly Settlement[];
	/** `again`: the line waits for another run. `counts`: the run counts as an attempt. */
	outcome:
		| { kind: "succeeded" | "failed"; text: string; isError: boolean; usage: BatchUsage }
		| { kind: "again"; startAt: number; counts: boolean };
}

export interface StartedBatch {
	record: BatchRecord;
	request: BatchRequest;
	/** Bills that may not have reached the account. */
	settlements: Settlement[];
}

export interface LineExchange {
	ended: readonly LineEnd[];
	/** Tickets whose bills the account has. */
	delivered: readonly string[];
	/** How many lines to start further. */
	claim: number;
	room: ResultRoom;
	/** Why none is claimed, for the callers. `null`: the batch waits no more. Absent: as before. */
	waiting?: BatchWait | null;
}

/** What results may take: they are rows of the account's object until the batch ends. */
export interface ResultRoom {
	/** Of the object. */
	maxBytes: number;
	isDiskFull: boolean;
}

export interface ExchangedLines {
	lines: ClaimedLine[];
	/** The batch was cancelled, or its time is over: no line may start. */
	isStopping: boolean;
	/** When the next line may start, if none was claimed. Absent: none waits. */
	nextAt?: number;
}

/** A part of the results. `next`: for the next part; absent at the end. */
export interface ResultsPart {
	text: string;
	next?: { line: number; piece: number };
}

/** Lines without a result. */
export interface UnfinishedPart {
	lines: Pick<NewLine, "line" | "customId">[];
	reason: "cancelled" | "expired";
}

export interface BatchesQuery {
	api: BatchApi;
	limit: number;
	/** Ids at the ends of other pages. */
	after?: string;
	before?: string;
}

export interface BatchesPage {
	batches: BatchRecord[];
	hasMore: boolean;
}

/** The files of results, when the batch ends. */
export type ResultFiles = readonly FileRecord[];

export const NO_USAGE: BatchUsage = {
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	reasoningTokens: 0,
	microNeurons: 0,
	fullMicroNeurons: 0,
};

export const addUsage = (one: BatchUsage, other: BatchUsage): BatchUsage => ({
	inputTokens: one.inputTokens + other.inputTokens,
	cachedTokens: one.cachedTokens + other.cachedTokens,
	outputTokens: one.outputTokens + other.outputTokens,
	reasoningTokens: one.reasoningTokens + other.reasoningTokens,
	microNeurons: one.microNeurons + other.microNeurons,
	fullMicroNeurons: one.fullMicroNeurons + other.fullMicroNeurons,
});

const ENDED: ReadonlySet<BatchStatus> = new Set(["failed", "completed", "expired", "cancelled"]);

export const hasEnded = ({ status }: Pick<BatchRecord, "status">): boolean => ENDED.has(status);
