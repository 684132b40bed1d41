/**
 * Deepgram's Flux over a websocket: the turns of a conversation (developers.deepgram.com/docs/flux/state,
 * /reference/speech-to-text/listen-flux). Every frame has the next `sequence_id`; `Connected` has 0.
 *
 * Differences from the product: no `Configure`; frames have Deepgram's `type`, which the catalogue's schema does not list;
 * a closing websocket has code 1000, where Deepgram sends no code.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import type { TranscriptionEvent } from "../../tasks/live-transcription/types.ts";
import type { Dialect, WriteContext } from "../dialect.ts";
import { fieldsReader } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { FLUX, vocabularyOf } from "./deepgram-fields.ts";
import { inRange, type LiveProtocol, liveWriter, readSampleRate } from "./live.ts";

const DEFAULT_THRESHOLD = "0.7";
const DEFAULT_TIMEOUT_MS = "5000";
const THRESHOLDS = [0.5, 0.9] as const;
const EAGER_THRESHOLDS = [0.3, 0.9] as const;
const TIMEOUTS_MS = [500, 60_000] as const;

const reader = fieldsReader(FLUX, (inputs) => {
	const { encoding, eager_eot_threshold: eager } = inputs;
	const { eot_threshold = DEFAULT_THRESHOLD, eot_timeout_ms = DEFAULT_TIMEOUT_MS } = inputs;
	const threshold = inRange("eot_threshold", Number(eot_threshold), ...THRESHOLDS);
	const eagerThreshold = eager && inRange("eager_eot_threshold", Number(eager), ...EAGER_THRESHOLDS);
	if (eagerThreshold && eagerThreshold > threshold)
		throw invalidInput("eager_eot_threshold must not be above eot_threshold");
	return {
		task: "live-transcription",
		input: {
			samples: { encoding, sample_rate: readSampleRate(inputs.sample_rate), channels: 1 },
			...present({ prompt: vocabularyOf(inputs) || undefined }),
			division: {
				kind: "turns",
				eot_threshold: threshold,
				...(eagerThreshold && { eager_eot_threshold: eagerThreshold }),
				eot_timeout_ms: inRange("eot_timeout_ms", Number(eot_timeout_ms), ...TIMEOUTS_MS),
			},
		},
	};
});

export const TurnInfo = z.object({
	request_id: z.string(),
	sequence_id: z.number(),
	event: z.enum(["Update", "StartOfTurn", "EagerEndOfTurn", "TurnResumed", "EndOfTurn"]),
	turn_index: z.number(),
	audio_window_start: z.number(),
	audio_window_end: z.number(),
	transcript: z.string(),
	words: z.array(z.object({ word: z.string(), confidence: z.number() })),
	end_of_turn_confidence: z.number(),
});

export const fluxLive: Dialect = { reader, writer: liveWriter(protocol) };

/** Deepgram's reference also lists Nova's `Finalize` and `KeepAlive` for Flux. */
const CONTROLS: LiveProtocol["controls"] = new Map([
	["CloseStream", "end"],
	["ForceEndTurn", "finalize"],
	["Finalize", "finalize"],
	["KeepAlive", "none"],
]);

function protocol({ requestId: request_id }: WriteContext): LiveProtocol {
	let nextSequenceId = 0;
	return {
		opening: [{ type: "Connected", request_id, sequence_id: nextSequenceId++ }],
		controls: CONTROLS,
		write: (event) => (event.kind === "turn" ? [turnInfo(event, request_id, nextSequenceId++)] : []),
		fail: ({ description, status }) => ({
			type: "Error",
			sequence_id: nextSequenceId++,
			code: status < 500 ? "BAD_REQUEST" : "INTERNAL_SERVER_ERROR",
			description,
		}),
	};
}

/** The confidence of a word if the engine does not report one. */
const UNKNOWN_CONFIDENCE = 1;

function turnInfo(
	{ event, turn_index, start, end, transcript, words, end_of_turn_confidence }: TurnOf<TranscriptionEvent>,
	request_id: string,
	sequence_id: number,
): { type: "TurnInfo" } & z.output<typeof TurnInfo> {
	return {
		type: "TurnInfo",
		request_id,
		sequence_id,
		event,
		turn_index,
		audio_window_start: start,
		audio_window_end: end,
		transcript,
		words: words.map(({ word, confidence = UNKNOWN_CONFIDENCE }) => ({ word, confidence })),
		end_of_turn_confidence,
	};
}

type TurnOf<Event> = Extract<Event, { kind: "turn" }>;
