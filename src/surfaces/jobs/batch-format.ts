/** Batches in the format of OpenAI. */
import { MICRO_NEURONS } from "../../accounts/admission.ts";
import { type BatchRecord, type BatchUsage, hasEnded } from "../../jobs/batches/records.ts";

const SECOND_MS = 1_000;

const seconds = (milliseconds: number | undefined): number | null =>
	milliseconds === undefined ? null : Math.floor(milliseconds / SECOND_MS);

export function openAiBatch(record: BatchRecord) {
	const { id, mistakes, metadata, status, succeeded, failed, total, waiting } = record;
	const ended = (state: BatchRecord["status"]): number | null =>
		status === state ? seconds(record.endedAt) : null;
	return {
		id,
		object: "batch",
		endpoint: `/v1${record.endpoint}`,
		model: record.model ?? null,
		errors:
			mistakes.length === 0
				? null
				: {
						object: "list",
						data: mistakes.map(({ code, message, line, param }) => ({
							code,
							message,
							line: line ?? null,
							param: param ?? null,
						})),
					},
		input_file_id: record.inputFile ?? null,
		completion_window: "24h",
		status,
		output_file_id: hasEnded(record) ? (record.outputFile ?? null) : null,
		error_file_id: hasEnded(record) ? (record.errorFile ?? null) : null,
		created_at: seconds(record.createdAt),
		in_progress_at: seconds(record.inProgressAt),
		expires_at: seconds(record.expiresAt),
		finalizing_at: seconds(record.finalizingAt),
		completed_at: ended("completed"),
		failed_at: ended("failed"),
		expired_at: ended("expired"),
		cancelling_at: seconds(record.cancellingAt),
		cancelled_at: ended("cancelled"),
		request_counts: { total, completed: succeeded, failed },
		usage: usageOf(record.usage),
		metadata: metadata ?? null,
		...(waiting && {
			waiting: { code: waiting.code, message: waiting.message, until: seconds(waiting.until) },
		}),
	};
}

const usageOf = (usage: BatchUsage) => ({
	input_tokens: usage.inputTokens,
	input_tokens_details: { cached_tokens: usage.cachedTokens },
	output_tokens: usage.outputTokens,
	output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
	total_tokens: usage.inputTokens + usage.outputTokens,
	neurons: usage.microNeurons / MICRO_NEURONS,
	neurons_without_discount: usage.fullMicroNeurons / MICRO_NEURONS,
});
