/**
 * What a call used, by its answer: what is billed for it. The engine's counts are the truth. Where it gave none, we
 * count, and say so; no count of ours passes the output that the engine was asked to keep to. Of an answer that has no
 * counts to give (images, sound) the sizes are known, not estimated.
 */

import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { imageSizeOf } from "../media/image-size.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import type { TurnInput } from "../tasks/audio.ts";
import type { Media } from "../tasks/media.ts";
import type { Progress, TaskCall, TaskInput, TaskName, TaskOutput } from "../tasks/task.ts";
import type { Usage } from "../tasks/text-generation.ts";
import { isCounted } from "../tasks/usage.ts";
import { approximateTokens } from "../token-estimate.ts";
import { tallyDecision, tallyPrompt, tallyReply } from "./chat.ts";
import { painted, seen } from "./pictures.ts";
import { isWav, wavSeconds } from "./samples.ts";
import { type Seconds, secondsOf } from "./sound.ts";
import { About } from "./tally.ts";
import { codePoints } from "./text.ts";
import { boundUsage } from "./usage-bounds.ts";

export interface Measured {
	quantities: Quantities;
	/** Whether any of them is our own guess. */
	estimated: boolean;
}

/** `<s>` … `</s>`. */
const TEXT_MARKS = 2;
/** Between a query and a context. */
const PAIR_MARKS = 2;
/** Sound of which neither engine nor file says how long it is: 64 kbit/s. */
const USUAL_SOUND_BYTES_PER_SECOND = 8_000;
/** Whisper hears so much at once, and its times may go to the end of that. Beyond, a file that says less lies. */
const WHISPER_WINDOW_SECONDS = 30;

/** The corners of one object, as a model writes them that is paid by tokens. */
export const OBJECT_TOKENS = 4;

/** 780 a minute. */
const CLEF_TOKENS_A_SECOND = 13;

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
		const reply = new About();
		tallyReply(output, reply);
		return guessed(promptTokens(input), Math.min(reply.tokens, mostOutput(input)));
	},
	decision: (_, { usage }) => known({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
	"text-embeddings": ({ texts }, { usage }, model) => {
		const tokens = usage?.prompt_tokens || usage?.total_tokens;
		return tokens ? known({ inputTokens: tokens }) : guessed(eachRead(texts, model));
	},
	// The query is read again with every context.
	reranking: ({ query, contexts }, _, model) =>
		guessed(eachRead(contexts, model, approximateTokens([query]) + PAIR_MARKS)),
	"text-classification": ({ text }, _, model) => guessed(eachRead([text], model)),
	translation: ({ texts }, { texts: translated, usage }, model) =>
		isCounted(usage) ? byUsage(usage) : guessed(eachRead(texts, model), eachRead(translated, model)),
	summarization: ({ text, max_length }, { summary, usage }, model) =>
		isCounted(usage)
			? byUsage(usage)
			: guessed(eachRead([text], model), Math.min(approximateTokens([summary]), max_length)),
	"speech-recognition": ({ audio }, transcript) => {
		const { duration } = transcript;
		return duration ? known({ audioSeconds: duration }) : heard(audio, { spokenUntil: lastEnd(transcript) });
	},
	// A session is paid when it ends: `measureLive`.
	"live-transcription": () => known({}),
	"text-to-speech": ({ text }, audio, { prices }) => {
		const characters = codePoints(text);
		return prices.some(({ unit }) => unit === "per audio minute")
			? heard(audio, { more: { characters } })
			: known({ characters });
	},
	"text-to-image": (input, _, model) => known(painted(input, model)),
	"image-to-text": ({ image, max_tokens = Number.POSITIVE_INFINITY, prompt }, { description, usage }) => {
		if (isCounted(usage)) return byUsage(usage, seen(image));
		const tally = new About();
		tally.opening();
		tally.marks(1);
		if (prompt) tally.text(prompt);
		tally.image(imageSizeOf(image.bytes));
		return guessed(tally.tokens, Math.min(approximateTokens([description]), max_tokens), seen(image));
	},
	"image-classification": ({ image }) => known(seen(image)),
	"object-detection": ({ image, target = "" }, { objects }, { prices }) =>
		prices.some(({ unit }) => unit === "per M input tokens")
			? guessed(detectionTokens(image, target), objects.length * OBJECT_TOKENS, seen(image))
			: known(seen(image)),
	"turn-detection": ({ audio, dtype }) => heard(audio, { dtype }),
};

/**
 * Of an answer that is whole: nothing of a session, which has only begun. At once, but for sound whose length no engine
 * told and whose file has to be read.
 */
export function measure<Name extends TaskName>(
	{ task, input }: TaskCall<Name>,
	output: TaskOutput<Name>,
	model: Model,
): Measured | Promise<Measured> {
	// The compiler cannot see that a task's entry takes that task's input and output: the table's type says it.
	const entry = METERS[task] as (
		input: unknown,
		output: unknown,
		model: Model,
	) => Measured | Promise<Measured>;
	return entry(input, output, model);
}

/** Of a stream, wherever it ended: what of it has passed. */
export function measureStream(call: TaskCall, { usage, outputTokens }: Progress, model: Model): Measured {
	if (isCounted(usage)) return byUsage(boundUsage(usage, call, model));
	if (call.task !== "text-generation") return guessed(0, outputTokens);
	return guessed(promptTokens(call.input), Math.min(outputTokens, mostOutput(call.input)));
}

/** Of a session of live transcription that has ended: seconds, and each channel is listened to for itself. */
export const measureLive = ({ duration, channels }: { duration: number; channels: number }): Measured =>
	known({ liveAudioSeconds: duration * channels });

const known = (quantities: Quantities): Measured => ({
	quantities: { ...quantities, requests: 1 },
	estimated: false,
});

const guessed = (inputTokens: number, outputTokens = 0, more: Quantities = {}): Measured => ({
	quantities: { inputTokens, outputTokens, ...more, requests: 1 },
	estimated: true,
});

/** Counts of ours as an engine would have given them. */
export function toUsage({ quantities: { inputTokens = 0, outputTokens = 0 } }: Measured): Usage {
	return {
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: inputTokens + outputTokens,
	};
}

function byUsage(usage: Usage, more: Quantities = {}): Measured {
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens;
	return known({
		inputTokens: prompt_tokens,
		outputTokens: completion_tokens,
		...(cachedTokens && { cachedTokens }),
		...more,
	});
}

/** Of all choices. An engine that was asked to keep to a limit has, whatever our count makes of its words. */
const mostOutput = ({ max_tokens = Number.POSITIVE_INFINITY, n = 1 }: TaskInput<"text-generation">): number =>
	max_tokens * n;

/** By our own count. */
export function promptTokens(input: TaskInput<"text-generation">): number {
	const tally = new About();
	tallyPrompt(input, tally);
	return tally.tokens;
}

/** By our own count. Images and sound count as the Clef models document. */
export function decisionTokens(input: TaskInput<"decision">): number {
	const tally = new About();
	const unmeasured: string[] = [];
	let soundTokens = 0;
	for (const url of input.audio) {
		const bytes = decodeBase64(splitDataUrl(url)?.base64 ?? "");
		const seconds = bytes && isWav(bytes) ? wavSeconds(bytes) : undefined;
		if (seconds === undefined) unmeasured.push(url);
		else soundTokens += Math.ceil(seconds * CLEF_TOKENS_A_SECOND);
	}
	tallyDecision({ ...input, audio: unmeasured }, tally);
	return tally.tokens + soundTokens;
}

/** Of a model that finds objects and is paid by tokens (Moondream). */
function detectionTokens(image: Media, target: string): number {
	const tally = new About();
	tally.opening();
	tally.marks(1);
	tally.text(target);
	tally.image(imageSizeOf(image.bytes));
	return tally.tokens;
}

/** Encoders read a text at a time, and of a long one the beginning. */
function eachRead(texts: readonly string[], { maxInputTokens }: Model, besides = 0): number {
	const most = maxInputTokens ?? Number.POSITIVE_INFINITY;
	return texts.reduce(
		(total, text) => total + Math.min(most, approximateTokens([text]) + TEXT_MARKS + besides),
		0,
	);
}

interface Listening {
	more?: Quantities;
	dtype?: TurnInput["dtype"];
	/** Seconds: when the last of what was understood ended. */
	spokenUntil?: number;
}

function heard(
	audio: Media,
	{ more = {}, dtype, spokenUntil = 0 }: Listening = {},
): Measured | Promise<Measured> {
	const said = (seconds: Seconds): Measured => {
		const ownSeconds = seconds ?? audio.bytes.length / USUAL_SOUND_BYTES_PER_SECOND;
		const lies = spokenUntil > ownSeconds + WHISPER_WINDOW_SECONDS;
		const audioSeconds = lies ? spokenUntil : ownSeconds;
		return { ...known({ ...more, audioSeconds }), estimated: lies || seconds === undefined };
	};
	const seconds = secondsOf(audio, dtype);
	return seconds instanceof Promise ? seconds.then(said) : said(seconds);
}

const lastEnd = ({ segments = [], words = [] }: TaskOutput<"speech-recognition">): number =>
	[...segments, ...words].reduce((latest, { end }) => Math.max(latest, end), 0);
