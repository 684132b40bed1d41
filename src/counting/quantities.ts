/** The quantities of a call: the most that it can use, for its reservation, and what it used, for its bill. */
import { cacheWritesIn, isCounted, reasoningIn, type Usage } from "../core/usage.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import { secondsOf } from "./audio-duration.ts";
import type { SampleType } from "./samples.ts";
import { utf8Length } from "./text.ts";
import { approximateTokens } from "./token-estimate.ts";

export interface Estimate {
	/** Everything but output tokens. */
	fixed: Quantities;
	/** Output tokens, the sum over all choices of a reply. */
	outputTokens: number;
	/** The caller set no output limit, so `outputTokens` is only a usual maximum. */
	outputUnbounded: boolean;
}

export interface Measured {
	quantities: Quantities;
	/** Whether any quantity is our own estimate. */
	estimated: boolean;
}

/** Maximum output tokens of one choice if the model has no context window. */
export const MAX_OUTPUT_TOKENS = 1_000_000;
/** Maximum number of markers that an encoder adds around a text or between two texts. */
export const MAX_TEXT_MARKERS = 4;
/** `<s>` … `</s>`. */
const TEXT_MARKERS = 2;
/** Audio of unknown duration: at least 4 kbit/s (Opus has speech at 6), typically 64 kbit/s. */
const MIN_AUDIO_BYTES_PER_SECOND = 500;
const TYPICAL_AUDIO_BYTES_PER_SECOND = 8_000;
/**
 * Whisper processes windows of this length, and its timestamps may go to the end of one. A file whose duration is
 * shorter by more is wrong.
 */
const WHISPER_WINDOW_SECONDS = 30;

export const upperBound = (quantities: Quantities): Estimate => ({
	fixed: { ...quantities, requests: 1 },
	outputTokens: 0,
	outputUnbounded: false,
});

export const tokenUpperBound = (
	inputTokens: number,
	outputTokens = 0,
	others: Quantities = {},
): Estimate & { outputUnbounded: false } => ({
	fixed: { inputTokens, ...others, requests: 1 },
	outputTokens,
	outputUnbounded: false,
});

/** Tokens of texts that an encoder reads one by one: at most one per byte. */
export const maxEncoderTokens = (texts: readonly string[]): number =>
	texts.reduce((total, text) => total + utf8Length(text) + MAX_TEXT_MARKERS, 0);

export const exact = (quantities: Quantities): Measured => ({
	quantities: { ...quantities, requests: 1 },
	estimated: false,
});

export const estimatedTokens = (
	inputTokens: number,
	outputTokens = 0,
	others: Quantities = {},
): Measured => ({
	quantities: { inputTokens, outputTokens, ...others, requests: 1 },
	estimated: true,
});

/**
 * Whether the engine has counted everything. Zero tokens of a prompt, or of an answer that is not empty, mean that it did not count them. No
 * token beside those of the reasoning means that it has counted no text.
 */
export const isFullyCounted = (usage: Usage): boolean => usage.prompt_tokens > 0 && hasCountedText(usage);

const hasCountedText = (usage: Usage): boolean => usage.completion_tokens > reasoningIn(usage);

/**
 * The engine's counts, and our own in the place of those that it does not have. If the engine did not count the text, the larger count of the
 * output is used.
 */
export function measuredBy(
	usage: Usage | null | undefined,
	ownCount: () => Measured,
	others: Quantities = {},
): Measured {
	if (!isCounted(usage)) return ownCount();
	const counted = byUsage(usage, others);
	if (isFullyCounted(usage)) return counted;
	const { inputTokens = 0, outputTokens = 0 } = ownCount().quantities;
	const added = {
		inputTokens: usage.prompt_tokens || inputTokens,
		outputTokens: hasCountedText(usage)
			? usage.completion_tokens
			: Math.max(usage.completion_tokens, outputTokens),
	};
	const isComplete =
		added.inputTokens === usage.prompt_tokens && added.outputTokens === usage.completion_tokens;
	return { quantities: { ...counted.quantities, ...added }, estimated: !isComplete };
}

/** The engine's own counts. */
export function byUsage(usage: Usage, others: Quantities = {}): Measured {
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens;
	const cacheWriteTokens = cacheWritesIn(usage);
	return exact({
		inputTokens: prompt_tokens,
		outputTokens: completion_tokens,
		...(cachedTokens && { cachedTokens }),
		...(cacheWriteTokens && { cacheWriteTokens }),
		...others,
	});
}

/** For tasks whose outputs have usage only if their engine sends it. */
export function completeUsage(output: { usage?: Usage }, measured: Measured): void {
	if (output.usage) output.usage = toUsage(measured, output.usage);
}

/** The measured counts in the format of an engine's usage. `usage` itself, if it has the same. */
export function toUsage(
	{ quantities: { inputTokens = 0, outputTokens = 0 } }: Measured,
	usage?: Usage | null,
): Usage {
	if (usage && usage.prompt_tokens === inputTokens && usage.completion_tokens === outputTokens) return usage;
	return {
		...usage,
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: inputTokens + outputTokens,
	};
}

/** Tokens of texts that an encoder reads one by one, each truncated to the model's limit. */
export function truncatedTokens(
	texts: readonly string[],
	{ maxInputTokens }: Model,
	extraTokens = 0,
): number {
	const limit = maxInputTokens ?? Number.POSITIVE_INFINITY;
	return texts.reduce(
		(total, text) => total + Math.min(limit, approximateTokens([text]) + TEXT_MARKERS + extraTokens),
		0,
	);
}

export const audioUpperBound = (audio: Media, sampleType?: SampleType): Estimate =>
	upperBound({
		audioSeconds: secondsOf(audio, sampleType) ?? audio.bytes.length / MIN_AUDIO_BYTES_PER_SECOND,
	});

interface AudioFacts {
	others?: Quantities;
	sampleType?: SampleType | undefined;
	/** Seconds: the duration that the engine reports. */
	reported?: number | undefined;
	/** Seconds: the end of the last segment or word of the transcript. */
	speechEnd?: number;
}

/**
 * The duration is the engine's, else the file's, else an estimate by its bytes. A time of the engine is bounded by the longest duration that
 * the bytes of the file can have.
 */
export function measuredAudio(
	audio: Media,
	{ others = {}, sampleType, reported = 0, speechEnd = 0 }: AudioFacts = {},
): Measured {
	const seconds = secondsOf(audio, sampleType);
	const fileSeconds = seconds ?? audio.bytes.length / TYPICAL_AUDIO_BYTES_PER_SECOND;
	const longest =
		Math.max(fileSeconds, audio.bytes.length / MIN_AUDIO_BYTES_PER_SECOND) + WHISPER_WINDOW_SECONDS;
	if (reported > 0) {
		const audioSeconds = Math.min(reported, longest);
		return { ...exact({ ...others, audioSeconds }), estimated: audioSeconds < reported };
	}
	const isWrong = speechEnd > fileSeconds + WHISPER_WINDOW_SECONDS;
	const audioSeconds = isWrong ? Math.min(speechEnd, longest) : fileSeconds;
	return { ...exact({ ...others, audioSeconds }), estimated: isWrong || seconds === undefined };
}
