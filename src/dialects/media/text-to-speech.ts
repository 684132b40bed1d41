/** Text to speech: MeloTTS, which answers in JSON, and Deepgram's Aura, which answers with the audio file. */
import * as z from "zod";
import { own } from "../../core/own.ts";
import { present } from "../../core/present.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf } from "../../media/types.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { SpeechInput } from "../../tasks/text-to-speech/index.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader, modelFields, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { jsonWriter, outputValue } from "../output-value.ts";

const speechCall = (input: SpeechInput): TaskCall => ({ task: "text-to-speech", input });

const melo = fieldsReader({ prompt: z.string().min(1), lang: z.string().optional() }, ({ prompt, lang }) =>
	speechCall({ text: prompt, ...present({ language: lang }), encoding: "mp3" }),
);

const names = (list: string): string[] => list.split(" ");

/** Voices of the catalogue's models. Models that the operator adds accept any voice. */
export const SPEAKERS: Record<string, string[]> = {
	"@cf/deepgram/aura-1": names(
		"angus asteria arcas orion orpheus athena luna zeus perseus helios hera stella",
	),
	"@cf/deepgram/aura-2-en": names(
		"amalthea andromeda apollo arcas aries asteria athena atlas aurora callista cora cordelia delia draco electra harmonia helena hera hermes hyperion iris janus juno jupiter luna mars minerva neptune odysseus ophelia orion orpheus pandora phoebe pluto saturn thalia theia vesta zeus",
	),
	"@cf/deepgram/aura-2-es": names("sirio nestor carina celeste alvaro diana aquila selena estrella javier"),
};

/** The containers of each encoding. */
const CONTAINERS: Record<SpeechInput["encoding"], NonNullable<SpeechInput["container"]>[]> = {
	linear16: ["wav", "none"],
	mulaw: ["wav", "none"],
	alaw: ["wav", "none"],
	opus: ["ogg"],
	mp3: ["none"],
	flac: ["none"],
	aac: ["none"],
};

/** Hertz. The size of uncompressed audio is proportional to it. */
const SAMPLE_RATES = { min: 8_000, max: 48_000 };
/** Bits per second: the maximum of Opus. The other encodings have lower maximums. */
const MAX_BIT_RATE = 650_000;

const auraFields = (model: Model) => {
	const speakers = own(SPEAKERS, model.id);
	return {
		text: z.string(),
		speaker: (speakers ? z.enum(speakers) : z.string()).optional(),
		encoding: z.enum(["linear16", "flac", "mulaw", "alaw", "mp3", "opus", "aac"]).optional(),
		container: z.enum(["none", "wav", "ogg"]).optional(),
		sample_rate: z.number().positive().optional(),
		bit_rate: z.number().positive().optional(),
	};
};
type Aura = z.output<z.ZodObject<ReturnType<typeof auraFields>>>;

const aura: Reader = {
	schema: perModel((model) => modelFields(auraFields(model), model)),
	read({ text, speaker, encoding = "mp3", container, sample_rate, bit_rate }: Aura) {
		if (container && !CONTAINERS[encoding].includes(container))
			throw invalidInput(`'${encoding}' does not go into '${container}'`);
		if (sample_rate && (sample_rate < SAMPLE_RATES.min || sample_rate > SAMPLE_RATES.max))
			throw invalidInput(`'sample_rate' must be from ${SAMPLE_RATES.min} to ${SAMPLE_RATES.max}`);
		if (bit_rate && bit_rate > MAX_BIT_RATE) throw invalidInput(`'bit_rate' must be at most ${MAX_BIT_RATE}`);
		return speechCall({
			text,
			encoding,
			...present({ voice: speaker, container, sample_rate, bit_rate }),
		});
	},
};

export const textToSpeechReaders = {
	"tts-melotts": melo,
	"tts-aura": aura,
} satisfies Partial<Record<InputShape, Reader>>;

const CONTENT_TYPES: Record<SpeechInput["encoding"], string> = {
	mp3: "audio/mpeg",
	flac: "audio/flac",
	aac: "audio/aac",
	opus: "audio/ogg",
	linear16: "audio/L16",
	mulaw: "audio/basic",
	alaw: "audio/x-alaw-basic",
};

/** The content type is the engine's, otherwise the detected one, otherwise that of the requested encoding. */
export function speechMedia(media: Media, { encoding, sample_rate }: SpeechInput): Media {
	const contentType = media.contentType ?? mediaTypeOf(media.bytes) ?? CONTENT_TYPES[encoding];
	// RFC 3551: the type of samples without a header has a `rate` parameter.
	const rate = contentType === "audio/L16" && sample_rate ? `;rate=${sample_rate}` : "";
	return { bytes: media.bytes, contentType: contentType + rate };
}

const audioBase64 = jsonWriter("text-to-speech", z.object({ audio: z.string() }), ({ bytes }) => ({
	audio: encodeBase64(bytes),
}));

const audioMpeg: NativeWriter = {
	schema: "audio/mpeg",
	write: (answer, { call }) => ({
		kind: "bytes",
		media: speechMedia(outputValue("text-to-speech", answer), call.input as SpeechInput),
	}),
};

export const textToSpeechWriters = {
	"audio-b64": audioBase64,
	"audio-mpeg": audioMpeg,
} satisfies Partial<Record<OutputShape, NativeWriter>>;
