/**
 * Estimates the maximum cost of a call before it runs: the amount to reserve. Text has at most one token per byte (see
 * {@link UpperBound}), audio has the duration of its metadata, and images have the requested number and size.
 *
 * These have no bound before the call, so the estimate may be too low: output without a limit (`outputUnbounded`; a limit
 * can be sent to the engine), the answers of a decision, an audio file with wrong metadata, a session of live
 * transcription, and input that Anthropic adds itself (files by id, results of server tools).
 */

import { type Seconds, secondsOf } from "../counting/audio-duration.ts";
import { inputImage } from "../counting/images.ts";
import { OBJECT_TOKENS, UpperBound } from "../counting/tally.ts";
import { codePoints, utf8Length } from "../counting/text.ts";
import { imageSizeOf } from "../media/image-size.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import { tallyDecision } from "../tasks/decision/tally.ts";
import type { TaskCall, TaskInput, TaskName } from "../tasks/task.ts";
import { tallyPrompt } from "../tasks/text-generation/tally.ts";
import { generatedImages } from "../tasks/text-to-image/images.ts";
import type { TurnInput } from "../tasks/turn-detection/types.ts";

export interface Estimate {
	/** Everything but output tokens. */
	fixed: Quantities;
	/** Output tokens, the sum over all choices of a reply. */
	outputTokens: number;
	/** The caller set no output limit, so `outputTokens` is only a usual maximum. */
	outputUnbounded: boolean;
}

/** Output without a limit of the caller. */
const USUAL_OUTPUT_LIMIT = 4_096;
/** Most output tokens of one choice where the model states no context window. */
export const MOST_OUTPUT_TOKENS = 1_000_000;
/** Default limit of a description in the product's schema. */
const DESCRIPTION_TOKENS = 512;
/** Default limit of a detection in Moondream's schema. */
const DEFAULT_MAX_OBJECTS = 150;
/** One answer of a decision, with its probabilities. */
const ANSWER_TOKENS = 256;
/** Markers that an encoder adds around a text or between two texts. */
const TEXT_MARKS = 4;
/** Allowance for longer translations of short texts, and for language markers. */
const TRANSLATION_EXTRA_TOKENS = 32;
/** Slow speech in any script: a Latin letter is one byte, a syllable of another script two or three. */
const SPEECH_BYTES_PER_SECOND = 4;
const SHORTEST_SPEECH_SECONDS = 2;
const SLOWEST_SPEED = 0.25;
/** Audio of unknown duration: 8 kbit/s. */
const MIN_AUDIO_BYTES_PER_SECOND = 1_000;
/** Reserved for a live session. A session under a budget is ended after this much audio, summed over all channels. */
export const LIVE_SESSION_SECONDS = 300;

type Estimates = {
	[Name in TaskName]: (input: TaskInput<Name>, model: Model) => Estimate | Promise<Estimate>;
};

const ESTIMATES: Estimates = {
	"text-generation": (input, { contextWindow = MOST_OUTPUT_TOKENS, defaults }) => {
		const tally = new UpperBound();
		tallyPrompt(input, tally);
		// Some engines add these to the prompt: schemas, template arguments, functions of the older API.
		for (const added of [input.response_format, input.chat_template_kwargs, input.passthrough])
			if (added) tally.json(added);
		if (input.verbatim?.unread !== undefined) tally.text(JSON.stringify(input.verbatim.body, withoutFiles));
		const { max_tokens, n = 1 } = input;
		const outputTokens = Math.min(max_tokens ?? USUAL_OUTPUT_LIMIT, contextWindow) * n;
		// A limit that equals the model's default was not set by the caller.
		const outputUnbounded = max_tokens === undefined || max_tokens === defaults.max_tokens;
		return { ...inputOf(tally.tokens, outputTokens), outputUnbounded };
	},
	decision: (input) => {
		const tally = new UpperBound();
		tallyDecision(input, tally);
		return inputOf(tally.tokens, (Object.keys(input.questions).length + 1) * ANSWER_TOKENS);
	},
	"text-embeddings": ({ texts }) => inputOf(upperBoundOf(texts)),
	// The model reads the query again with every context.
	reranking: ({ query, contexts }) =>
		inputOf(upperBoundOf(contexts) + contexts.length * (utf8Length(query) + TEXT_MARKS)),
	"text-classification": ({ text }) => inputOf(upperBoundOf([text])),
	translation: ({ texts }) => {
		const tokens = upperBoundOf(texts);
		return inputOf(tokens, tokens + texts.length * TRANSLATION_EXTRA_TOKENS);
	},
	summarization: ({ text, max_length }) =>
		inputOf(upperBoundOf([text]), Math.min(max_length, MOST_OUTPUT_TOKENS)),
	"speech-recognition": ({ audio }) => ofAudio(audio),
	"live-transcription": () => only({ liveAudioSeconds: LIVE_SESSION_SECONDS }),
	"text-to-speech": ({ text, speed = 1 }) => {
		const seconds = utf8Length(text) / SPEECH_BYTES_PER_SECOND / Math.max(SLOWEST_SPEED, speed);
		return only({ characters: codePoints(text), audioSeconds: SHORTEST_SPEECH_SECONDS + seconds });
	},
	"text-to-image": (input, model) => only(generatedImages(input, model)),
	"image-to-text": ({ image, prompt = "", max_tokens }) => {
		const tally = new UpperBound();
		tally.opening();
		tally.marks(2);
		tally.text(prompt);
		tally.image(imageSizeOf(image.bytes));
		const { fixed, ...output } = inputOf(
			tally.tokens,
			Math.min(max_tokens ?? DESCRIPTION_TOKENS, MOST_OUTPUT_TOKENS),
		);
		return { fixed: { ...fixed, ...inputImage(image) }, ...output };
	},
	"image-classification": ({ image }) => only(inputImage(image)),
	"object-detection": ({ image, target = "", max_objects = DEFAULT_MAX_OBJECTS }, { prices }) => {
		if (!prices.some(({ unit }) => unit === "per M input tokens")) return only(inputImage(image));
		const tally = new UpperBound();
		tally.opening();
		tally.marks(1);
		tally.text(target);
		tally.image(imageSizeOf(image.bytes));
		const { fixed, ...output } = inputOf(
			tally.tokens,
			Math.min(max_objects * OBJECT_TOKENS, MOST_OUTPUT_TOKENS),
		);
		return { fixed: { ...fixed, ...inputImage(image) }, ...output };
	},
	"turn-detection": ({ audio, dtype }) => ofAudio(audio, dtype),
};

/** Synchronous, except for audio files that a library has to read. */
export function estimate<Name extends TaskName>(
	call: TaskCall<Name>,
	model: Model,
): Estimate | Promise<Estimate> {
	// The table's type ensures that each function takes its task's input; the compiler cannot infer it here.
	const estimateTask = ESTIMATES[call.task] as (input: unknown, model: Model) => Estimate | Promise<Estimate>;
	return estimateTask(call.input, model);
}

/** JSON replacer that omits embedded files: they are counted with the converted messages. */
const withoutFiles = (_: string, value: unknown): unknown =>
	typeof value === "object" && value !== null && "type" in value && value.type === "base64" ? null : value;

const only = (quantities: Quantities): Estimate => ({
	fixed: { ...quantities, requests: 1 },
	outputTokens: 0,
	outputUnbounded: false,
});

const inputOf = (inputTokens: number, outputTokens = 0): Estimate => ({
	fixed: { inputTokens, requests: 1 },
	outputTokens,
	outputUnbounded: false,
});

const upperBoundOf = (texts: readonly string[]): number =>
	texts.reduce((total, text) => total + utf8Length(text) + TEXT_MARKS, 0);

function ofAudio(audio: Media, dtype?: TurnInput["dtype"]): Estimate | Promise<Estimate> {
	const estimateOf = (seconds: Seconds): Estimate =>
		only({ audioSeconds: seconds ?? audio.bytes.length / MIN_AUDIO_BYTES_PER_SECOND });
	const seconds = secondsOf(audio, dtype);
	return seconds instanceof Promise ? seconds.then(estimateOf) : estimateOf(seconds);
}
