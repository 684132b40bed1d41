/**
 * Text to speech: a real sound file, one channel, as long as the text takes to say (`timing.ts`: about 150 words a
 * minute, divided by `speed`), with the text inside it (`spoken-text.ts`, `watermark.ts`).
 *
 * There is no encoder here for FLAC, Opus and AAC, and a file that is not what was asked for breaks the caller's
 * player: they are refused. A text longer than a minute is said faster, so that it ends within the minute.
 */
import { AiError } from "../../../errors.ts";
import type { SpeechInput } from "../../../tasks/audio.ts";
import type { Media } from "../../../tasks/media.ts";
import { mp3, type SpeechEncoder, wave } from "./speech-encoders.ts";
import { placeWords, secondsOf, spokenWords } from "./timing.ts";
import { speak } from "./voice.ts";

const MAX_SECONDS = 60;
const SLOWEST = 0.25;
const FASTEST = 4;
const DEFAULT_VOICE = "ganglion";

export async function textToSpeech(input: SpeechInput): Promise<Media> {
	// Metadata ends at a null, and readers of it trim; nobody says either.
	const text = input.text.replaceAll("\0", "").trim();
	const words = spokenWords(text);
	if (words.length === 0) throw new AiError("invalidInput", "There is nothing to say: the text is empty.");
	const speed = input.speed ?? 1;
	if (!(speed >= SLOWEST && speed <= FASTEST))
		throw new AiError("invalidInput", `speed must be between ${SLOWEST} and ${FASTEST}.`);

	const encode = encoderFor(input);
	const duration = Math.min(MAX_SECONDS, secondsOf(words) / speed);
	const voice = input.voice ?? DEFAULT_VOICE;
	const samples = speak({ words: placeWords(words, duration), duration, voice, rate: encode.rate });
	return encode.file(samples, text);
}

function encoderFor(input: SpeechInput): SpeechEncoder {
	switch (input.encoding) {
		case "mp3":
			return mp3(input);
		case "linear16":
		case "mulaw":
		case "alaw":
			return wave(input, input.encoding);
		case "flac":
		case "opus":
		case "aac":
			throw new AiError(
				"invalidInput",
				`The simulator does not write ${input.encoding}; its encodings are mp3, linear16, mulaw and alaw.`,
			);
	}
}
