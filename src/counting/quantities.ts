/** The quantities of a call: the most that it can use, for its reservation, and what it used, for its bill. */
import type { Usage } from "../core/usage.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import { type Seconds, secondsOf } from "./audio-duration.ts";
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

/** Most output tokens of one choice where the model states no context window. */
export const MOST_OUTPUT_TOKENS = 1_000_000;
/** Markers that an encoder adds around a text or between two texts, at most. */
export const MOST_TEXT_MARKS = 4;
/** `<s>` … `</s>`. */
const TEXT_MARKS = 2;
/** Audio of unknown duration: 8 kbit/s at least, 64 kbit/s usually. */
const MIN_AUDIO_BYTES_PER_SECOND = 1_000;
const USUAL_AUDIO_BYTES_PER_SECOND = 8_000;
/** Whisper processes windows of this length, and its timestamps may go to the end of one. A file whose duration is shorter by more is wrong. */
const WHISPER_WINDOW_SECONDS = 30;

export const atMost = (quantities: Quantities): Estimate => ({
	fixed: { ...quantities, requests: 1 },
	outputTokens: 0,
	outputUnbounded: false,
});

export const tokensAtMost = (
	inputTokens: number,
	outputTokens = 0,
	others: Quantities = {},
): Estimate & { outputUnbounded: false } => ({
	fixed: { inputTokens, ...others, requests: 1 },
	outputTokens,
	outputUnbounded: false,
});

/** Tokens of texts that an encoder reads one by one: at most one per byte. */
export const mostTokens = (texts: readonly string[]): number =>
	texts.reduce((total, text) => total + utf8Length(text) + MOST_TEXT_MARKS, 0);

export const known = (quantities: Quantities): Measured => ({
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

/** The engine's own counts. */
export function byUsage(usage: Usage, others: Quantities = {}): Measured {
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens;
	return known({
		inputTokens: prompt_tokens,
		outputTokens: completion_tokens,
		...(cachedTokens && { cachedTokens }),
		...others,
	});
}

/** Our own counts in the format of an engine's usage. */
export function toUsage({ quantities: { inputTokens = 0, outputTokens = 0 } }: Measured): Usage {
	return {
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: inputTokens + outputTokens,
	};
}

/** Tokens of texts that an encoder reads one by one, each truncated to the model's limit. */
export function truncatedTokens(texts: readonly string[], { maxInputTokens }: Model, besides = 0): number {
	const limit = maxInputTokens ?? Number.POSITIVE_INFINITY;
	return texts.reduce(
		(total, text) => total + Math.min(limit, approximateTokens([text]) + TEXT_MARKS + besides),
		0,
	);
}

export function audioAtMost(audio: Media, sampleType?: SampleType): Estimate | Promise<Estimate> {
	const estimateOf = (seconds: Seconds): Estimate =>
		atMost({ audioSeconds: seconds ?? audio.bytes.length / MIN_AUDIO_BYTES_PER_SECOND });
	const seconds = secondsOf(audio, sampleType);
	return seconds instanceof Promise ? seconds.then(estimateOf) : estimateOf(seconds);
}

interface AudioFacts {
	others?: Quantities;
	sampleType?: SampleType | undefined;
	/** Seconds: end of the last segment or word of the transcript. */
	spokenUntil?: number;
}

/** Audio has no counts. Its duration is known from the file, unless the file has none. */
export function measuredAudio(
	audio: Media,
	{ others = {}, sampleType, spokenUntil = 0 }: AudioFacts = {},
): Measured | Promise<Measured> {
	const measured = (seconds: Seconds): Measured => {
		const ownSeconds = seconds ?? audio.bytes.length / USUAL_AUDIO_BYTES_PER_SECOND;
		const isWrong = spokenUntil > ownSeconds + WHISPER_WINDOW_SECONDS;
		const audioSeconds = isWrong ? spokenUntil : ownSeconds;
		return { ...known({ ...others, audioSeconds }), estimated: isWrong || seconds === undefined };
	};
	const seconds = secondsOf(audio, sampleType);
	return seconds instanceof Promise ? seconds.then(measured) : measured(seconds);
}
