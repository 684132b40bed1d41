/**
 * Measures what a call used from its answer, for the bill. The engine's counts are used if it sends any. Otherwise we count
 * ourselves and mark the result as estimated; our count never exceeds the requested output limit. Images and audio have no
 * counts; their sizes are known, not estimated.
 */

import { isCounted, type Usage } from "../core/usage.ts";
import { type Seconds, secondsOf } from "../counting/audio-duration.ts";
import { inputImage } from "../counting/images.ts";
import { isWav, wavSeconds } from "../counting/samples.ts";
import { Approximation, OBJECT_TOKENS } from "../counting/tally.ts";
import { codePoints } from "../counting/text.ts";
import { approximateTokens } from "../counting/token-estimate.ts";
import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { imageSizeOf } from "../media/image-size.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import { tallyDecision } from "../tasks/decision/tally.ts";
import type { Progress, TaskCall, TaskInput, TaskName, TaskOutput } from "../tasks/task.ts";
import { tallyPrompt, tallyReply } from "../tasks/text-generation/tally.ts";
import { generatedImages } from "../tasks/text-to-image/images.ts";
import type { TurnInput } from "../tasks/turn-detection/types.ts";
import { boundUsage } from "./usage-bounds.ts";

export interface Measured {
	quantities: Quantities;
	/** Whether any quantity is our own estimate. */
	estimated: boolean;
}

/** `<s>` … `</s>`. */
const TEXT_MARKS = 2;
/** Between a query and a context. */
const PAIR_MARKS = 2;
/** Audio whose duration neither the engine nor the file gives: 64 kbit/s. */
const USUAL_AUDIO_BYTES_PER_SECOND = 8_000;
/** Whisper processes windows of this length, and its timestamps may go to the end of one. A file whose duration is shorter by more is wrong. */
const WHISPER_WINDOW_SECONDS = 30;

/** 780 tokens per minute. */
const CLEF_TOKENS_PER_SECOND = 13;

type Meters = {
	[Name in TaskName]: (
		input: TaskInput<Name>,
		output: TaskOutput<Name>,
		model: Model,
	) => Measured | Promise<Measured>;
};

const METERS: Meters = {
	"text-generation": (input, output) => {
		if (isCounted(output.usage)) return byUsage(output.usage);
		const reply = new Approximation();
		tallyReply(output, reply);
		return estimatedTokens(promptTokens(input), Math.min(reply.tokens, outputLimit(input)));
	},
	decision: (_, { usage }) => known({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
	"text-embeddings": ({ texts }, { usage }, model) => {
		const tokens = usage?.prompt_tokens || usage?.total_tokens;
		return tokens ? known({ inputTokens: tokens }) : estimatedTokens(truncatedTokens(texts, model));
	},
	// The model reads the query again with every context.
	reranking: ({ query, contexts }, _, model) =>
		estimatedTokens(truncatedTokens(contexts, model, approximateTokens([query]) + PAIR_MARKS)),
	"text-classification": ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
	translation: ({ texts }, { texts: translated, usage }, model) =>
		isCounted(usage)
			? byUsage(usage)
			: estimatedTokens(truncatedTokens(texts, model), truncatedTokens(translated, model)),
	summarization: ({ text, max_length }, { summary, usage }, model) =>
		isCounted(usage)
			? byUsage(usage)
			: estimatedTokens(truncatedTokens([text], model), Math.min(approximateTokens([summary]), max_length)),
	"speech-recognition": ({ audio }, transcript) => {
		const { duration } = transcript;
		return duration
			? known({ audioSeconds: duration })
			: ofAudio(audio, { spokenUntil: lastEnd(transcript) });
	},
	// A session is billed when it ends: `measureLive`.
	"live-transcription": () => known({}),
	"text-to-speech": ({ text }, audio, { prices }) => {
		const characters = codePoints(text);
		return prices.some(({ unit }) => unit === "per audio minute")
			? ofAudio(audio, { others: { characters } })
			: known({ characters });
	},
	"text-to-image": (input, _, model) => known(generatedImages(input, model)),
	"image-to-text": ({ image, max_tokens = Number.POSITIVE_INFINITY, prompt }, { description, usage }) => {
		if (isCounted(usage)) return byUsage(usage, inputImage(image));
		const tally = new Approximation();
		tally.opening();
		tally.marks(1);
		if (prompt) tally.text(prompt);
		tally.image(imageSizeOf(image.bytes));
		return estimatedTokens(
			tally.tokens,
			Math.min(approximateTokens([description]), max_tokens),
			inputImage(image),
		);
	},
	"image-classification": ({ image }) => known(inputImage(image)),
	"object-detection": ({ image, target = "" }, { objects }, { prices }) =>
		prices.some(({ unit }) => unit === "per M input tokens")
			? estimatedTokens(detectionTokens(image, target), objects.length * OBJECT_TOKENS, inputImage(image))
			: known(inputImage(image)),
	"turn-detection": ({ audio, dtype }) => ofAudio(audio, { dtype }),
};

/**
 * Measures a complete answer; a session has only begun and counts as nothing. Synchronous, except for audio without a
 * duration from the engine whose file a library has to read.
 */
export function measure<Name extends TaskName>(
	{ task, input }: TaskCall<Name>,
	output: TaskOutput<Name>,
	model: Model,
): Measured | Promise<Measured> {
	// The table's type ensures that each function takes its task's input and output; the compiler cannot infer it here.
	const measureTask = METERS[task] as (
		input: unknown,
		output: unknown,
		model: Model,
	) => Measured | Promise<Measured>;
	return measureTask(input, output, model);
}

/** Measures the part of a stream that was sent, wherever it ended. */
export function measureStream(call: TaskCall, { usage, outputTokens }: Progress, model: Model): Measured {
	if (isCounted(usage)) return byUsage(boundUsage(usage, call, model));
	if (call.task !== "text-generation") return estimatedTokens(0, outputTokens);
	return estimatedTokens(promptTokens(call.input), Math.min(outputTokens, outputLimit(call.input)));
}

/** Measures a finished session of live transcription: seconds times channels, because each channel is transcribed separately. */
export const measureLive = ({ duration, channels }: { duration: number; channels: number }): Measured =>
	known({ liveAudioSeconds: duration * channels });

const known = (quantities: Quantities): Measured => ({
	quantities: { ...quantities, requests: 1 },
	estimated: false,
});

const estimatedTokens = (inputTokens: number, outputTokens = 0, others: Quantities = {}): Measured => ({
	quantities: { inputTokens, outputTokens, ...others, requests: 1 },
	estimated: true,
});

/** Our own counts in the format of an engine's usage. */
export function toUsage({ quantities: { inputTokens = 0, outputTokens = 0 } }: Measured): Usage {
	return {
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: inputTokens + outputTokens,
	};
}

function byUsage(usage: Usage, others: Quantities = {}): Measured {
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens;
	return known({
		inputTokens: prompt_tokens,
		outputTokens: completion_tokens,
		...(cachedTokens && { cachedTokens }),
		...others,
	});
}

/** The output limit of all choices. Engines keep to it, so a larger count of ours is wrong. */
const outputLimit = ({
	max_tokens = Number.POSITIVE_INFINITY,
	n = 1,
}: TaskInput<"text-generation">): number => max_tokens * n;

/** Tokens of the prompt by our own count. */
export function promptTokens(input: TaskInput<"text-generation">): number {
	const tally = new Approximation();
	tallyPrompt(input, tally);
	return tally.tokens;
}

/** Tokens of a decision by our own count. Images and audio count as documented for the Clef models. */
export function decisionTokens(input: TaskInput<"decision">): number {
	const tally = new Approximation();
	const unmeasured: string[] = [];
	let audioTokens = 0;
	for (const url of input.audio) {
		const bytes = decodeBase64(splitDataUrl(url)?.base64 ?? "");
		const seconds = bytes && isWav(bytes) ? wavSeconds(bytes) : undefined;
		if (seconds === undefined) unmeasured.push(url);
		else audioTokens += Math.ceil(seconds * CLEF_TOKENS_PER_SECOND);
	}
	tallyDecision({ ...input, audio: unmeasured }, tally);
	return tally.tokens + audioTokens;
}

/** Prompt tokens of object detection, for a model that is billed by tokens (Moondream). */
function detectionTokens(image: Media, target: string): number {
	const tally = new Approximation();
	tally.opening();
	tally.marks(1);
	tally.text(target);
	tally.image(imageSizeOf(image.bytes));
	return tally.tokens;
}

/** Tokens of texts that an encoder reads one by one, each truncated to the model's limit. */
function truncatedTokens(texts: readonly string[], { maxInputTokens }: Model, besides = 0): number {
	const limit = maxInputTokens ?? Number.POSITIVE_INFINITY;
	return texts.reduce(
		(total, text) => total + Math.min(limit, approximateTokens([text]) + TEXT_MARKS + besides),
		0,
	);
}

interface AudioFacts {
	others?: Quantities;
	dtype?: TurnInput["dtype"];
	/** Seconds: end of the last segment or word of the transcript. */
	spokenUntil?: number;
}

function ofAudio(
	audio: Media,
	{ others = {}, dtype, spokenUntil = 0 }: AudioFacts = {},
): Measured | Promise<Measured> {
	const measured = (seconds: Seconds): Measured => {
		const ownSeconds = seconds ?? audio.bytes.length / USUAL_AUDIO_BYTES_PER_SECOND;
		const isWrong = spokenUntil > ownSeconds + WHISPER_WINDOW_SECONDS;
		const audioSeconds = isWrong ? spokenUntil : ownSeconds;
		return { ...known({ ...others, audioSeconds }), estimated: isWrong || seconds === undefined };
	};
	const seconds = secondsOf(audio, dtype);
	return seconds instanceof Promise ? seconds.then(measured) : measured(seconds);
}

const lastEnd = ({ segments = [], words = [] }: TaskOutput<"speech-recognition">): number =>
	[...segments, ...words].reduce((latest, { end }) => Math.max(latest, end), 0);
