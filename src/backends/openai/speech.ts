/**
 * https://platform.openai.com/docs/api-reference/audio/createSpeech. Audio is not converted: an encoding that the route
 * does not have is refused, and at OpenAI so is raw audio at another sample rate than its own.
 */
import { AiError } from "../../core/errors.ts";
import { soundTypeOf } from "../../media/types.ts";
import type { SpeechInput } from "../../tasks/text-to-speech/index.ts";
import type { Handler } from "../handler.ts";
import { postBytes } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { mediaExtensions, serviceAt } from "./hosts.ts";

/** Hertz of OpenAI's `pcm`. */
const PCM_RATE = 24_000;

/** OpenAI's voices. The catalogue's models have others, which are replaced by the default. */
const VOICES: ReadonlySet<string | undefined> = new Set(
	"alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse".split(" "),
);
const DEFAULT_VOICE = "alloy";

const CONTENT_TYPES = {
	mp3: "audio/mpeg",
	wav: "audio/wav",
	pcm: "audio/pcm",
	flac: "audio/flac",
	opus: "audio/ogg",
	aac: "audio/aac",
};

export const speak: Handler<"text-to-speech"> = async (input, call) => {
	const { text, voice, language, speed, sample_rate } = input;
	const strict = serviceAt(call.target).isOpenAi;
	const format = formatOf(input, call);
	if (strict && format === "pcm" && sample_rate !== undefined && sample_rate !== PCM_RATE)
		throw refused(call, `sample_rate ${sample_rate} without a container`);
	const media = await postBytes(call, "/audio/speech", {
		...mediaExtensions(call, "speech", input.extensions),
		model: call.target.model,
		input: text,
		voice: strict && !VOICES.has(voice) ? DEFAULT_VOICE : voice,
		response_format: format,
		speed,
		...(!strict && { language, sample_rate }),
	});
	// Raw samples have no signature.
	const contentType = format === "pcm" ? undefined : soundTypeOf(media);
	return { bytes: media.bytes, contentType: contentType ?? CONTENT_TYPES[format] };
};

function formatOf({ encoding, container }: SpeechInput, call: Call): keyof typeof CONTENT_TYPES {
	if (encoding === "linear16") return container === "none" ? "pcm" : "wav";
	if (encoding === "mulaw" || encoding === "alaw") throw refused(call, `encoding ${encoding}`);
	return encoding;
}

const refused = ({ target }: Call, feature: string) =>
	new AiError("engineRefused", `The backend '${target.backend}' has no ${feature}`);
