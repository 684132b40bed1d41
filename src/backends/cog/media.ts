/** Images and audio. */
import * as z from "zod";
import { mediaTypeOf, soundTypeOf } from "../../media/types.ts";
import type { Transcript } from "../../tasks/speech-recognition/types.ts";
import type { Handler } from "../handler.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { CogInputs, fileUrl } from "./inputs.ts";
import { fileOf, textOf } from "./predictions.ts";

export const generateImage: Handler<"text-to-image"> = async (input, call) => {
	const inputs = await CogInputs.of(call);
	const { prompt, negative_prompt, width, height, steps, guidance, seed, images, mask, format } = input;
	inputs.require("prompt", prompt);
	inputs.setAll({ negative_prompt, width, height, steps, guidance, seed });
	// Some models name the format `jpg`.
	if (!inputs.set("format", format) && format === "jpeg") inputs.set("format", "jpg");
	const [first, ...others] = images.map(fileUrl);
	if (first !== undefined) {
		if (others.length === 0 && inputs.has("image")) inputs.require("image", first);
		else inputs.require("images", [first, ...others]);
		inputs.set("strength", input.strength);
		if (mask) inputs.require("mask", fileUrl(mask));
	}
	inputs.extend(input.extensions);
	const { bytes, contentType } = await fileOf((await inputs.predict()).output, call);
	const type = mediaTypeOf(bytes) ?? contentType;
	if (!type?.startsWith("image/")) throw failureOfShape(call, "an image");
	return { bytes, contentType: type };
};

export const speak: Handler<"text-to-speech"> = async (input, call) => {
	const inputs = await CogInputs.of(call);
	const { text, voice, language, speed, encoding } = input;
	if (encoding === "mulaw" || encoding === "alaw") throw unsupported(call, `has no encoding ${encoding}`);
	inputs.require("spoken", text);
	inputs.setAll({ voice, language, speed, format: encoding === "linear16" ? "wav" : encoding });
	inputs.extend(input.extensions);
	const media = await fileOf((await inputs.predict()).output, call);
	const contentType = soundTypeOf(media) ?? media.contentType;
	return { bytes: media.bytes, ...(contentType && { contentType }) };
};

const Segments = z.array(z.object({ start: z.number(), end: z.number(), text: z.string() }));

/** The format of Replicate's Whisper models. Others answer with the text alone. */
const Transcription = z.looseObject({
	text: z.string().optional(),
	transcription: z.string().optional(),
	detected_language: z.string().nullish(),
	language: z.string().nullish(),
	segments: Segments.nullish().catch(undefined),
});

export const transcribe: Handler<"speech-recognition"> = async (input, call) => {
	const inputs = await CogInputs.of(call);
	const { audio, task, language, prompt, temperature } = input;
	inputs.require("audio", fileUrl(audio));
	const translates = inputs.set("task", task) || inputs.set("translate", task === "translate");
	if (task === "translate" && !translates) throw unsupported(call, "does not translate what it hears");
	inputs.setAll({ language, vocabulary: prompt, temperature });
	inputs.extend(input.extensions);
	return transcriptOf((await inputs.predict()).output, call);
};

function transcriptOf(output: unknown, call: Call): Transcript {
	const reply = Transcription.safeParse(output).data;
	if (!reply) return { text: textOf(output, call) };
	const { segments } = reply;
	const text = reply.text ?? reply.transcription ?? segments?.map((segment) => segment.text).join("");
	if (text === undefined) throw failureOfShape(call, "a transcript", output);
	const language = reply.detected_language ?? reply.language;
	return { text, ...(language && { language }), ...(segments && { segments }) };
}
