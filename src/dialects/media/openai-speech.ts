/**
 * `POST /audio/speech`. `voice` is forwarded unchanged: OpenAI's names only work with engines that support them. A strict
 * route accepts only the model's own speakers. Other fields, such as `instructions`, reach hosts that know them.
 */
import * as z from "zod";
import { own } from "../../core/own.ts";
import { present } from "../../core/present.ts";
import type { SpeechInput } from "../../tasks/text-to-speech/index.ts";
import type { Dialect, Reader, Writer } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import { extended } from "./extensions.ts";
import { SPEAKERS, speechMedia } from "./text-to-speech.ts";

/** Hertz. `pcm` has no header. */
const PCM_SAMPLE_RATE = 24_000;

const FORMATS = {
	mp3: { encoding: "mp3" },
	opus: { encoding: "opus", container: "ogg" },
	aac: { encoding: "aac" },
	flac: { encoding: "flac" },
	wav: { encoding: "linear16", container: "wav" },
	pcm: { encoding: "linear16", container: "none", sample_rate: PCM_SAMPLE_RATE },
} as const satisfies Record<string, Pick<SpeechInput, "encoding" | "container" | "sample_rate">>;

const SpeechRequest = nullAsAbsent(
	z.looseObject({
		model: z.string(),
		input: z.string().min(1).max(4096),
		voice: z.union([z.string(), z.object({ id: z.string() })]).optional(),
		response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).optional(),
		speed: z.number().min(0.25).max(4).optional(),
		instructions: z.string().max(4096).optional(),
		stream_format: z.enum(["audio", "sse"]).optional(),
	}),
);
type SpeechRequest = z.output<typeof SpeechRequest>;

const reader: Reader = {
	schema: () => SpeechRequest,
	read(request: SpeechRequest, { id, defaults }, strict) {
		const { model: _, input, voice, response_format, speed, stream_format, ...others } = request;
		if (stream_format === "sse") throw badInput("'/stream_format' must be 'audio'");
		const name = typeof voice === "object" ? voice?.id : voice;
		const speakers: readonly string[] | undefined = own(SPEAKERS, id);
		if (strict && name && speakers && !speakers.includes(name))
			throw badInput(`enum value not in ${speakers.join(",")} at '/voice'`);
		const defaultVoice = typeof defaults.speaker === "string" ? defaults.speaker : undefined;
		return {
			task: "text-to-speech",
			input: {
				text: input,
				...FORMATS[response_format ?? "mp3"],
				...present({ voice: name || defaultVoice, speed }),
				...extended(others),
			},
		};
	},
};

const writer: Writer = {
	write(answer, { inputs, call }) {
		const media = speechMedia(outputValue("text-to-speech", answer), call.input as SpeechInput);
		const isPcm = (inputs as SpeechRequest).response_format === "pcm";
		return { kind: "bytes", media: isPcm ? { ...media, contentType: "audio/pcm" } : media };
	},
};

export const openaiSpeech: Dialect = { reader, writer };
