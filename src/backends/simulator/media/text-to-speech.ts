/**
 * Text to speech: a valid audio file with one channel, as long as the text takes to speak (`timing.ts`: about 150 words a
 * minute, divided by `speed`). WAV and raw samples have a tone for each word, MP3 is silent (`mp3.ts`). The files' tags
 * say that they are simulated.
 *
 * FLAC, Opus and AAC are refused: there is no encoder for them, and another format could break the caller's player. A text
 * longer than a minute is spoken faster, so that it ends within the minute.
 */
import { WaveFile } from "wavefile";
import { AiError } from "../../../core/errors.ts";
import type { Media } from "../../../media/media.ts";
import type { SpeechInput } from "../../../tasks/text-to-speech/index.ts";
import { id3Tag, withInfo } from "./audio-tags.ts";
import { silentMp3 } from "./mp3.ts";
import { joined, wavChunks } from "./riff.ts";
import { placeWords, type SpokenWord, secondsOf, spokenWords } from "./timing.ts";

const MAX_SECONDS = 60;
const SLOWEST = 0.25;
const FASTEST = 4;
const LOWEST_RATE_HZ = 4_000;
const HIGHEST_RATE_HZ = 48_000;
const USUAL_RATE_HZ = { linear16: 24_000, mulaw: 8_000, alaw: 8_000 } as const;
const RAW_TYPES = { linear16: "audio/l16", mulaw: "audio/mulaw", alaw: "audio/alaw" } as const;
const TONE_HZ = 440;
const LOUDEST = 0.3 * 0x7fff;

type Spoken = SpokenWord & { start: number; end: number };

export async function textToSpeech(input: SpeechInput): Promise<Media> {
	// Tags end at a null, and their readers trim.
	const text = input.text.replaceAll("\0", "").trim();
	const words = spokenWords(text);
	if (words.length === 0) throw new AiError("invalidInput", "There is nothing to say: the text is empty.");
	const speed = input.speed ?? 1;
	if (!(speed >= SLOWEST && speed <= FASTEST))
		throw new AiError("invalidInput", `speed must be between ${SLOWEST} and ${FASTEST}.`);
	const seconds = Math.min(MAX_SECONDS, secondsOf(words) / speed);
	switch (input.encoding) {
		case "mp3":
			return { bytes: joined([id3Tag(text), silentMp3(input, seconds)]), contentType: "audio/mpeg" };
		case "linear16":
		case "mulaw":
		case "alaw":
			return wave(input, input.encoding, { text, words: placeWords(words, seconds), seconds });
		case "flac":
		case "opus":
		case "aac":
			throw new AiError(
				"invalidInput",
				`The simulator does not write ${input.encoding}; its encodings are mp3, linear16, mulaw and alaw.`,
			);
		default:
			return input.encoding satisfies never;
	}
}

interface Speech {
	text: string;
	words: Spoken[];
	seconds: number;
}

function wave(
	{ container = "wav", sample_rate }: SpeechInput,
	encoding: keyof typeof USUAL_RATE_HZ,
	{ text, words, seconds }: Speech,
): Media {
	if (container === "ogg")
		throw new AiError("invalidInput", `${encoding} goes into container wav or none, not ogg.`);
	const rate = sample_rate ?? USUAL_RATE_HZ[encoding];
	if (!(Number.isInteger(rate) && rate >= LOWEST_RATE_HZ && rate <= HIGHEST_RATE_HZ))
		throw new AiError(
			"invalidInput",
			`sample_rate for ${encoding} must be a whole number from ${LOWEST_RATE_HZ} to ${HIGHEST_RATE_HZ}.`,
		);
	const wav = new WaveFile();
	wav.fromScratch(1, rate, "16", tones(words, Math.round(seconds * rate), rate));
	if (encoding === "mulaw") wav.toMuLaw();
	if (encoding === "alaw") wav.toALaw();
	const file = wav.toBuffer();
	if (container === "wav") return { bytes: withInfo(file, text), contentType: "audio/wav" };
	const samples = wavChunks(file)?.data ?? new Uint8Array();
	return { bytes: new Uint8Array(samples), contentType: `${RAW_TYPES[encoding]};rate=${rate};channels=1` };
}

/** A tone for each word, which swells and fades so that it does not click. */
function tones(words: readonly Spoken[], length: number, rate: number): Int16Array {
	const samples = new Int16Array(length);
	for (const { start, end } of words) {
		const from = Math.round(start * rate);
		const to = Math.min(length, Math.round(end * rate));
		for (let at = from; at < to; at++) {
			const swell = Math.sin((Math.PI * (at - from)) / (to - from));
			samples[at] = LOUDEST * swell * Math.sin((2 * Math.PI * TONE_HZ * at) / rate);
		}
	}
	return samples;
}
