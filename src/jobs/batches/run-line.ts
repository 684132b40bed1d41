/** The run of one line: reads it, calls the model, and decides whether its answer is final. */
import type { AiError } from "../../core/errors.ts";
import type { FailureKey } from "../../core/failures.ts";
import { isRecord, parseRecord } from "../../core/json.ts";
import { boundedText } from "../../outbound/bounded-text.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import { completeBodyOf } from "../../streams/complete-body.ts";
import type { JobsServices } from "../services.ts";
import type { LineAdmissions } from "./line-admissions.ts";
import { LineLedger } from "./line-ledger.ts";
import type { LineBody } from "./line-reader.ts";
import type { BatchRecord, BatchUsage, BatchWait, ClaimedLine, LineEnd } from "./records.ts";
import { isSuccess, RESULT_FORMATS } from "./result-lines.ts";
import { jobsOf } from "./settings.ts";

const MAX_ATTEMPTS = 3;
const FIRST_RETRY_MS = 2_000;
const RETRY_GROWTH = 4;
/** The task of searches, which have no discount. The product has none for its queue either. */
const WEB_SEARCH = "Web Search";
/** The runtime sends at most 32 MiB in one call of an object. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Of an answer that broke off, or is longer. */
const UNREAD = {
	status: 500,
	text: JSON.stringify({
		error: { message: "The answer broke off, or is too large for a batch.", type: "server_error" },
	}),
};
/** If a refusal names no time. */
const WAIT_MS = 60_000;
const BUSY_SECONDS = 2;
const SECOND_MS = 1_000;

/** Limits of the account, its tokens and gateways: the batch waits until they have room. */
const LIMITED: ReadonlySet<FailureKey> = new Set<FailureKey>([
	"rateLimited",
	"budgetExceeded",
	"budgetReserved",
	"accountLimited",
	"freeAllocationUsed",
	"gatewayLimited",
	"spendLimited",
]);
/** The gateway cannot store or count. */
const UNAVAILABLE: ReadonlySet<FailureKey> = new Set<FailureKey>([
	"ledgerUnavailable",
	"diskFull",
	"storageUnavailable",
	"responseStoreUnavailable",
]);
const BUSY: ReadonlySet<FailureKey> = new Set<FailureKey>(["outOfCapacity"]);

/** The time of the run was over. Another run has a time of its own. */
const LATE: ReadonlySet<FailureKey> = new Set<FailureKey>(["timeout", "modelTimeout", "attemptTimeout"]);

export interface LineCall {
	/** The request id. */
	id: string;
	caller: Caller;
	headers: Headers;
	/** Such as `/chat/completions`. */
	endpoint: string;
	fields: LineBody;
	signal: AbortSignal;
}

/**
 * Answers like the route of the endpoint. `failure`: why the answer is a failure, if the gateway knows it. `isFinal`: the line does not run
 * again, although a part of it was refused. Never rejects.
 */
export type RunLine = (
	call: LineCall,
	services: Pick<PipelineServices, "ledgers" | "observers">,
) => Promise<{ response: Response; failure: AiError | undefined; isFinal?: boolean }>;

export interface LineContext {
	record: BatchRecord;
	caller: Caller;
	headers: readonly (readonly [string, string])[];
	admissions: Pick<LineAdmissions, "add">;
	signal: AbortSignal;
	addTicket(line: number, tickets: { first: string; ticket: string }): Promise<void>;
}

export interface FinishedLine {
	end: LineEnd;
	/** The batch waits. */
	wait?: BatchWait;
}

export async function runLine(
	claimed: ClaimedLine,
	body: LineBody,
	context: LineContext,
	run: { line: RunLine; services: JobsServices },
): Promise<FinishedLine> {
	const { services } = run;
	const { record, signal } = context;
	const { line, ticket } = claimed;
	const place = services.jobPace.start(record.model ?? "", ticket, services.jobSettings);
	const ledger = new LineLedger(ticket, {
		ledgers: services.ledgers,
		admissions: context.admissions,
		takePlace: () => place.take(services.wait),
		addTicket: (added) => context.addTicket(line, { first: ticket, ticket: added }),
		discounted: (settlement, { task }) => ({
			...settlement,
			microNeurons:
				task === WEB_SEARCH || record.api === "workers-ai"
					? settlement.microNeurons
					: Math.ceil(settlement.microNeurons * jobsOf(services.jobSettings, settlement.backend).discount),
		}),
	});
	const { ledgers } = ledger;
	const { response, failure, isFinal } = await run.line(
		{
			...{ id: ticket, caller: context.caller, endpoint: record.endpoint, fields: body, signal },
			headers: new Headers([...context.headers].map(([name, value]): [string, string] => [name, value])),
		},
		// The bills of a line are stored with its result.
		{ ledgers, observers: services.observers },
	);
	const text = await textOf(response);
	await ledger.close();
	const backend = ledger.settlements.find((settlement) => settlement.backend !== "")?.backend ?? "";
	const reason = failure ?? (isFinal ? undefined : ledger.refused);
	place.end({ backend, isBusy: reason !== undefined && BUSY.has(reason.key) });
	const { settlements } = ledger;
	// The account pays for the run that answers the line, and the operator for those before.
	const again = (startAt: number, counts: boolean): LineEnd => ({
		...{ line, ticket, settlements: settlements.map((each) => ({ ...each, microNeurons: 0 })) },
		outcome: { kind: "again", startAt, counts },
	});
	const now = services.now();
	const isAnswered = isFinal || (text !== undefined && isSuccess(response.status));
	if (signal.aborted && !isAnswered) return { end: again(now, false) };
	const wait = reason && waitOf(reason, now);
	if (wait) return { end: again(wait.until, false), wait };
	// The backend will have room.
	if (reason && BUSY.has(reason.key))
		return { end: again(now + (reason.retryAfter ?? BUSY_SECONDS) * SECOND_MS, false) };
	const isUnread = text === undefined;
	const mayRepeat = !isFinal && (isUnread || isRepeatable(response.status, reason));
	if (mayRepeat && claimed.attempts + 1 < MAX_ATTEMPTS)
		return { end: again(now + FIRST_RETRY_MS * RETRY_GROWTH ** claimed.attempts, true) };
	const answer = {
		status: isUnread ? UNREAD.status : response.status,
		requestId: ticket,
		text: text ?? UNREAD.text,
	};
	const result = RESULT_FORMATS[record.api].answered(claimed.customId, answer);
	const isGood = isSuccess(answer.status);
	const usage = usageOf(ledger, isGood ? answer.text : "");
	return {
		end: { line, ticket, settlements, outcome: { kind: isGood ? "succeeded" : "failed", ...result, usage } },
	};
}

/** `undefined`: it broke off, or is too large. */
async function textOf(response: Response): Promise<string | undefined> {
	const complete = completeBodyOf(response);
	if (!complete) return boundedText(response.body, MAX_ANSWER_BYTES).catch(() => undefined);
	return complete.size() > MAX_ANSWER_BYTES ? undefined : complete.text();
}

function waitOf(reason: AiError, now: number): BatchWait | undefined {
	if (!LIMITED.has(reason.key) && !UNAVAILABLE.has(reason.key)) return undefined;
	const { code, description, retryAfter } = reason;
	const milliseconds = retryAfter === undefined ? WAIT_MS : Math.max(1, retryAfter) * SECOND_MS;
	return { code, message: description, until: now + milliseconds };
}

/** Whether another run may succeed. */
const isRepeatable = (status: number, reason: AiError | undefined): boolean =>
	reason ? reason.retryable || LATE.has(reason.key) : status === 408 || status === 429 || status >= 500;

function usageOf({ settlements, fullMicroNeurons }: LineLedger, text: string): BatchUsage {
	const sum = (value: (settlement: (typeof settlements)[number]) => number): number =>
		settlements.reduce((total, settlement) => total + value(settlement), 0);
	return {
		inputTokens: sum(({ inputTokens }) => inputTokens),
		cachedTokens: sum(({ cachedTokens }) => cachedTokens),
		outputTokens: sum(({ outputTokens }) => outputTokens),
		reasoningTokens: reasoningTokens(text),
		microNeurons: sum(({ microNeurons }) => microNeurons),
		fullMicroNeurons,
	};
}

/** In the answers of chats and of Responses. */
function reasoningTokens(text: string): number {
	if (!text.includes("reasoning_tokens")) return 0;
	const usage = parseRecord(text)?.usage;
	if (!isRecord(usage)) return 0;
	const details = usage.completion_tokens_details ?? usage.output_tokens_details;
	const count = isRecord(details) ? details.reasoning_tokens : undefined;
	return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? count : 0;
}
