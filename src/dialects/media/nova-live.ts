/**
 * Deepgram's Nova over a websocket: segments of the audio (developers.deepgram.com/reference/speech-to-text/
 * listen-streaming). Without an encoding the audio is in a container, which the engine must detect.
 *
 * Differences from the product: all channels are mixed, also with `multichannel`; options for additional analysis are not
 * forwarded; a connection without audio is not an error (`NET-0001`).
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { present } from "../../core/present.ts";
import type { Model } from "../../models/model.ts";
import type { LiveTranscriptionInput } from "../../tasks/live-transcription/types.ts";
import type { Dialect, WriteContext } from "../dialect.ts";
import { fieldsReader } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { alternativeOf } from "./deepgram.ts";
import { NOVA, vocabularyOf } from "./deepgram-fields.ts";
import { type LiveProtocol, liveWriter, readChannels, readSampleRate } from "./live.ts";

/** Callers may send numbers and flags as text, as in the query string of Deepgram's own URL. */
const count = z.union([z.string().regex(/^[0-9]+$/), z.int().min(0)]);
const milliseconds = z.union([z.string().regex(/^(?:[0-9]+|true|false)$/), z.int().min(0), z.boolean()]);

const { audio: _, ...OPTIONS } = NOVA;
const NOVA_LIVE = {
	...OPTIONS,
	sample_rate: count.optional(),
	channels: count.optional(),
	utt_split: z.union([z.string(), z.number()]).optional(),
	endpointing: milliseconds.optional(),
	utterance_end_ms: milliseconds.optional(),
};
type NovaLive = z.output<z.ZodObject<typeof NOVA_LIVE>>;

/** Deepgram's default. */
const DEFAULT_ENDPOINTING_MS = 10;
/** The minimum that Deepgram recommends. In the catalogue's schema the field is a flag. */
const DEFAULT_UTTERANCE_END_MS = 1000;

const reader = fieldsReader(NOVA_LIVE, (inputs) => {
	const { detect_language, interim_results, language, vad_events } = inputs;
	const { endpointing = DEFAULT_ENDPOINTING_MS, utterance_end_ms = false } = inputs;
	return {
		task: "live-transcription",
		input: {
			...samplesOf(inputs),
			...present({
				language: isOn(detect_language) ? undefined : language || undefined,
				prompt: vocabularyOf(inputs) || undefined,
			}),
			division: {
				kind: "segments",
				interim_results: isOn(interim_results),
				vad_events: isOn(vad_events),
				...present({
					endpointing: durationOf(endpointing, DEFAULT_ENDPOINTING_MS),
					utterance_end_ms: durationOf(utterance_end_ms, DEFAULT_UTTERANCE_END_MS),
				}),
			},
		},
	};
});

const isOn = (flag: boolean | string | undefined): boolean => flag === true || flag === "true";

/** `undefined` means off, `true` the default. */
function durationOf(sent: string | number | boolean, defaultMs: number): number | undefined {
	if (sent === false || sent === "false") return;
	return sent === true || sent === "true" ? defaultMs : Number(sent);
}

function samplesOf({
	encoding,
	sample_rate,
	channels = 1,
}: NovaLive): Pick<LiveTranscriptionInput, "samples"> {
	if (encoding === undefined) return {};
	if (sample_rate === undefined) throw badInput("required properties at '/' are 'encoding,sample_rate'");
	return {
		samples: { encoding, sample_rate: readSampleRate(sample_rate), channels: readChannels(channels) },
	};
}

export const novaLive: Dialect = { reader, writer: liveWriter(protocol) };

const CONTROLS: LiveProtocol["controls"] = new Map([
	["CloseStream", "end"],
	["Finalize", "finalize"],
	["KeepAlive", "none"],
]);

/** The index of the only channel, and the number of channels. */
const CHANNEL_INDEX = [0, 1];

function protocol({ model, now, requestId }: WriteContext): LiveProtocol {
	const audioHash = createHash("sha256");
	return {
		opening: [],
		controls: CONTROLS,
		onAudio: (bytes) => void audioHash.update(bytes),
		write(event) {
			switch (event.kind) {
				case "segment": {
					const { start, end, transcript, words, is_final, speech_final, from_finalize } = event;
					return [
						{
							type: "Results",
							channel_index: CHANNEL_INDEX,
							duration: Math.round((end - start) * 1000) / 1000,
							start,
							is_final,
							speech_final,
							channel: { alternatives: [{ confidence: 0, ...alternativeOf(transcript, words) }] },
							metadata: { request_id: requestId, model_info: modelInfo(model), model_uuid: model.uuid },
							from_finalize,
						},
					];
				}
				case "speech-started":
					return [{ type: "SpeechStarted", channel: CHANNEL_INDEX, timestamp: event.timestamp }];
				case "utterance-end":
					return [{ type: "UtteranceEnd", channel: CHANNEL_INDEX, last_word_end: event.last_word_end }];
				case "ended":
					return [
						{
							type: "Metadata",
							transaction_key: "deprecated",
							request_id: requestId,
							sha256: audioHash.digest("hex"),
							created: new Date(now).toISOString(),
							duration: event.duration,
							channels: event.channels,
						},
					];
				case "turn":
					return [];
				default:
					return event satisfies never;
			}
		},
		fail: ({ description }) => ({ type: "Error", description }),
	};
}

const modelInfo = ({ id, created }: Model): object => ({
	name: id,
	version: created,
	arch: id.split("/").at(-1),
});
