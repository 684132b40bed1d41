/** Text to speech (MeloTTS answers in JSON, Aura with an audio file), and Smart Turn. */

import * as z from "zod";
import { decodeBase64, encodeBase64 } from "../../media/base64.ts";
import { soundTypeOf } from "../../media/types.ts";
import { inputFamily } from "../../models/family.ts";
import type { Answer } from "../../tasks/task.ts";
import type { SpeechInput } from "../../tasks/text-to-speech/types.ts";
import type { TurnInput } from "../../tasks/turn-detection/types.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { runBytes, runJson, upstreamModel, value } from "./run.ts";

const AudioReply = z.looseObject({ audio: z.string().min(1) });

/** The models have no input for `speed`. */
export async function speak(input: SpeechInput, call: Call): Promise<Answer<"text-to-speech">> {
	const { text, voice, language, encoding, container, sample_rate, bit_rate } = input;
	if (inputFamily(upstreamModel(call)).speaksInJson) {
		const { audio } = await runJson(call, { prompt: text, lang: language }, AudioReply);
		const bytes = decodeBase64(audio);
		if (!bytes) throw failureOfShape(call, "sound");
		const contentType = soundTypeOf({ bytes });
		return value({ bytes, ...(contentType && { contentType }) });
	}
	const inputs = { text, speaker: voice, encoding, container, sample_rate, bit_rate };
	return value(await runBytes(call, inputs));
}

const TurnReply = z.looseObject({ is_complete: z.boolean(), probability: z.number().min(0).max(1) });

export async function detectTurn({ audio, dtype }: TurnInput, call: Call): Promise<Answer<"turn-detection">> {
	const inputs = { audio: encodeBase64(audio.bytes), dtype };
	const { is_complete, probability } = await runJson(call, inputs, TurnReply);
	return value({ is_complete, probability });
}
