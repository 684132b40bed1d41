/** Batches in the format of Google's Gemini API: long-running operations. */
import { own } from "../../core/own.ts";
import { type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";

const ENDPOINT = "/gemini/";
const INTERNAL_CODE = 13;

/** The method that each request runs, by the method that creates the batch. */
const METHODS: Readonly<Record<string, string>> = {
	batchGenerateContent: "generateContent",
	asyncBatchEmbedContent: "embedContent",
};

export const GEMINI_BATCH_METHODS: readonly string[] = Object.keys(METHODS);

export const geminiEndpoint = (created: string): string => `${ENDPOINT}${own(METHODS, created)}`;
export const isGeminiEndpoint = (endpoint: string): boolean => endpoint.startsWith(ENDPOINT);
export const geminiMethodOf = (endpoint: string): string => endpoint.slice(ENDPOINT.length);

/** The words of a batch that has not ended depend on its lines. */
const ENDED: Partial<Record<BatchRecord["status"], string>> = {
	completed: "BATCH_STATE_SUCCEEDED",
	failed: "BATCH_STATE_FAILED",
	cancelled: "BATCH_STATE_CANCELLED",
	expired: "BATCH_STATE_EXPIRED",
};

const instant = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Without the results. */
export function geminiBatch(record: BatchRecord) {
	const { id, model = "", createdAt, endedAt, total, succeeded, failed, status, endpoint, waiting } = record;
	const { mistakes } = record;
	const isEmbedding = geminiMethodOf(endpoint) === "embedContent";
	const started = succeeded + failed > 0 ? "BATCH_STATE_RUNNING" : "BATCH_STATE_PENDING";
	return {
		name: `batches/${id}`,
		metadata: {
			"@type": `type.googleapis.com/google.ai.generativelanguage.v1main.${isEmbedding ? "Embed" : "Generate"}ContentBatch`,
			name: `batches/${id}`,
			model: `models/${model}`,
			displayName: record.metadata?.displayName ?? "",
			state: ENDED[status] ?? started,
			createTime: instant(createdAt),
			updateTime: instant(endedAt ?? createdAt),
			...(endedAt !== undefined && { endTime: instant(endedAt) }),
			batchStats: {
				requestCount: String(total),
				pendingRequestCount: String(total - succeeded - failed),
				successfulRequestCount: String(succeeded),
				failedRequestCount: String(failed),
			},
			...(waiting && { waiting: { ...waiting, until: instant(waiting.until) } }),
		},
		done: hasEnded(record),
		...(status === "failed" && {
			error: { code: INTERNAL_CODE, message: mistakes[0]?.message ?? "The batch has failed." },
		}),
	};
}

/** The text before and after the items of the results. */
export function resultsFrame({ endpoint }: BatchRecord): { start: string; end: string } {
	const name =
		geminiMethodOf(endpoint) === "embedContent" ? "inlinedEmbedContentResponses" : "inlinedResponses";
	return { start: `{"${name}":{"inlinedResponses":[`, end: "]}}" };
}
