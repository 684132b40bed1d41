/** Text to speech (MeloTTS answers in JSON, Aura with an audio file), and Smart Turn. */
import * as z from "zod";
import { decodeBase64, encodeBase64 } from "../../media/base64.ts";
import { soundTypeOf } from "../../media/types.ts";
import { inputFamily } from "../../models/family.ts";
import type { Handler } from "../handler.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";
import { runBytes, runJson, upstreamModel } from "./run.ts";

const AudioReply = z.looseObject({ audio: z.string().min(1) });

/** The models have no input for `speed`. */
export const speak: Handler<"text-to-speech"> = async (input, call) => {
	const { text, voice, language, encoding, container, sample_rate, bit_rate } = input;
	if (!inputFamily(upstreamModel(call)).speaksInJson)
		return runBytes(call, { text, speaker: voice, encoding, container, sample_rate, bit_rate });
	const { audio } = await runJson(call, { prompt: text, lang: language }, AudioReply);
	const bytes = decodeBase64(audio);
	if (!bytes) throw failureOfShape(call, "sound", audio);
	const contentType = soundTypeOf({ bytes });
	return { bytes, ...(contentType && { contentType }) };
};

const TurnReply = z.object({ is_complete: z.boolean(), probability: z.number().min(0).max(1) });

export const detectTurn: Handler<"turn-detection"> = async ({ audio, dtype }, call) =>
	runJson(call, { audio: encodeBase64(audio.bytes), dtype }, TurnReply);
