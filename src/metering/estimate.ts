/**
 * What a call may cost at most, before it is made: what is reserved for it. A token is at most a byte of text (see
 * {@link AtMost}), sound is as long as its file says, and images are as many and as large as was asked.
 *
 * Not bounds, because nothing before the call is one: an output whose caller set no limit (`open`: the engine can be
 * told one), the questions' answers of a decision, a sound file that lies about its length, a session of live
 * transcription, and what Anthropic adds to a prompt by itself (files by their ids, results of the tools that it runs).
 */

import { imageSizeOf } from "../media/image-size.ts";
import type { Model } from "../models/model.ts";
import type { Quantities } from "../models/neurons.ts";
import type { TurnInput } from "../tasks/audio.ts";
import type { Media } from "../tasks/media.ts";
import type { TaskCall, TaskInput, TaskName } from "../tasks/task.ts";
import { tallyDecision, tallyPrompt } from "./chat.ts";
import { OBJECT_TOKENS } from "./measure.ts";
import { painted, seen } from "./pictures.ts";
import { type Seconds, secondsOf } from "./sound.ts";
import { AtMost } from "./tally.ts";
import { codePoints, utf8Length } from "./text.ts";

export interface Estimate {
	/** Everything but output tokens. */
	fixed: Quantities;
	/** Tokens; all choices of a reply together. */
	outputTokens: number;
	/** Nobody set a limit of output: `outputTokens` is what such a call usually stays below. */
	open: boolean;
}

/** Of a reply whose caller set no limit. */
const USUAL_MOST_OUTPUT_TOKENS = 4_096;
/** Most output tokens of one choice where the model states no context window. */
export const MOST_OUTPUT_TOKENS = 1_000_000;
/** Of a description, as the product's schema has it. */
const DESCRIPTION_TOKENS = 512;
/** Of a detection, as Moondream's schema has it. */
const USUAL_MOST_OBJECTS = 150;
/** Of the answers to a decision's question, written out with their probabilities. */
const ANSWER_TOKENS = 256;
/** The marks that an encoder puts around a text, or between two. */
const TEXT_MARKS = 4;
/** A translation of a word may be many; the marks of its language. */
const TRANSLATION_EXTRA_TOKENS = 32;
/** Slow speech, in any script: Latin letters are a byte, and the syllables of other scripts two or three. */
const SPEECH_BYTES_PER_SECOND = 4;
const SHORTEST_SPEECH_SECONDS = 2;
const SLOWEST_SPEED = 0.25;
/** 8 kbit/s: sound whose file does not say how long it is. */
const LEAST_SOUND_BYTES_PER_SECOND = 1_000;
/** A session's end is not known at its start. One that a budget limits is ended at so much sound of all channels together. */
export const LIVE_SESSION_SECONDS = 300;

type Estimates = {
	[Name in TaskName]: (input: TaskInput<Name>, model: Model) => Estimate | Promise<Estimate>;
};

const ESTIMATES: Estimates = {
	"text-generation": (input, { contextWindow = MOST_OUTPUT_TOKENS, defaults }) => {
		const tally = new AtMost();
		tallyPrompt(input, tally);
		// What the model must keep to, what its template is told, functions of before there were tools: some engines show it.
		for (const shown of [input.response_format, input.chat_template_kwargs, input.passthrough])
			if (shown) tally.json(shown);
		if (input.verbatim?.unread !== undefined) tally.text(JSON.stringify(input.verbatim.body, withoutFiles));
		const { max_tokens, n = 1 } = input;
		const outputTokens = Math.min(max_tokens ?? USUAL_MOST_OUTPUT_TOKENS, contextWindow) * n;
		// A limit that is the model's own default is nobody's wish.
		const open = max_tokens === undefined || max_tokens === defaults.max_tokens;
		return { ...inputOf(tally.tokens, outputTokens), open };
	},
	decision: (input) => {
		const tally = new AtMost();
		tallyDecision(input, tally);
		return inputOf(tally.tokens, (Object.keys(input.questions).length + 1) * ANSWER_TOKENS);
	},
	"text-embeddings": ({ texts }) => inputOf(most(texts)),
	// The query is read again with every context.
	reranking: ({ query, contexts }) =>
		inputOf(most(contexts) + contexts.length * (utf8Length(query) + TEXT_MARKS)),
	"text-classification": ({ text }) => inputOf(most([text])),
	translation: ({ texts }) => {
		const tokens = most(texts);
		return inputOf(tokens, tokens + texts.length * TRANSLATION_EXTRA_TOKENS);
	},
	summarization: ({ text, max_length }) => inputOf(most([text]), Math.min(max_length, MOST_OUTPUT_TOKENS)),
	"speech-recognition": ({ audio }) => heard(audio),
	"live-transcription": () => only({ liveAudioSeconds: LIVE_SESSION_SECONDS }),
	"text-to-speech": ({ text, speed = 1 }) => {
		const seconds = utf8Length(text) / SPEECH_BYTES_PER_SECOND / Math.max(SLOWEST_SPEED, speed);
		return only({ characters: codePoints(text), audioSeconds: SHORTEST_SPEECH_SECONDS + seconds });
	},
	"text-to-image": (input, model) => only(painted(input, model)),
	"image-to-text": ({ image, prompt = "", max_tokens }) => {
		const tally = new AtMost();
		tally.opening();
		tally.marks(2);
		tally.text(prompt);
		tally.image(imageSizeOf(image.bytes));
		const { fixed, ...rest } = inputOf(
			tally.tokens,
			Math.min(max_tokens ?? DESCRIPTION_TOKENS, MOST_OUTPUT_TOKENS),
		);
		return { fixed: { ...fixed, ...seen(image) }, ...rest };
	},
	"image-classification": ({ image }) => only(seen(image)),
	"object-detection": ({ image, target = "", max_objects = USUAL_MOST_OBJECTS }, { prices }) => {
		if (!prices.some(({ unit }) => unit === "per M input tokens")) return only(seen(image));
		const tally = new AtMost();
		tally.opening();
		tally.marks(1);
		tally.text(target);
		tally.image(imageSizeOf(image.bytes));
		const { fixed, ...rest } = inputOf(
			tally.tokens,
			Math.min(max_objects * OBJECT_TOKENS, MOST_OUTPUT_TOKENS),
		);
		return { fixed: { ...fixed, ...seen(image) }, ...rest };
	},
	"turn-detection": ({ audio, dtype }) => heard(audio, dtype),
};

/** At once, but for sound whose file has to be read. */
export function estimate<Name extends TaskName>(
	call: TaskCall<Name>,
	model: Model,
): Estimate | Promise<Estimate> {
	// The compiler cannot see that a task's entry takes that task's input: the table's type says it.
	const entry = ESTIMATES[call.task] as (input: unknown, model: Model) => Estimate | Promise<Estimate>;
	return entry(call.input, model);
}

/** Of a body that only its own upstream reads whole. Those files are among the messages that were read, and counted there. */
const withoutFiles = (_: string, value: unknown): unknown =>
	typeof value === "object" && value !== null && "type" in value && value.type === "base64" ? null : value;

const only = (quantities: Quantities): Estimate => ({
	fixed: { ...quantities, requests: 1 },
	outputTokens: 0,
	open: false,
});

const inputOf = (inputTokens: number, outputTokens = 0): Estimate => ({
	fixed: { inputTokens, requests: 1 },
	outputTokens,
	open: false,
});

const most = (texts: readonly string[]): number =>
	texts.reduce((total, text) => total + utf8Length(text) + TEXT_MARKS, 0);

function heard(audio: Media, dtype?: TurnInput["dtype"]): Estimate | Promise<Estimate> {
	const said = (seconds: Seconds): Estimate =>
		only({ audioSeconds: seconds ?? audio.bytes.length / LEAST_SOUND_BYTES_PER_SECOND });
	const seconds = secondsOf(audio, dtype);
	return seconds instanceof Promise ? seconds.then(said) : said(seconds);
}
