/** Images and audio. */
import * as z from "zod";
import { mediaTypeOf, soundTypeOf } from "../../media/types.ts";
import type { Transcript, TranscriptionInput } from "../../tasks/speech-recognition/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ImageInput } from "../../tasks/text-to-image/types.ts";
import type { SpeechInput } from "../../tasks/text-to-speech/types.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { fileUrl, Inputs, unable } from "./inputs.ts";
import { readModel } from "./model.ts";
import { fileOf, textOf } from "./outputs.ts";
import { predict } from "./predictions.ts";

export async function generateImage(input: ImageInput, call: Call): Promise<Answer<"text-to-image">> {
	const inputs = new Inputs(await readModel(call));
	const { prompt, negative_prompt, width, height, steps, guidance, seed, images, mask, format } = input;
	inputs.require("prompt", prompt, call);
	for (const [name, value] of Object.entries({ negative_prompt, width, height, steps, guidance, seed }))
		inputs.set(name as "seed", value);
	// Some models name the format `jpg`.
	if (!inputs.set("format", format) && format === "jpeg") inputs.set("format", "jpg");
	const [first, ...others] = images.map(fileUrl);
	if (first !== undefined) {
		if (others.length === 0 && inputs.has("image")) inputs.require("image", first, call);
		else inputs.require("images", [first, ...others], call);
		inputs.set("strength", input.strength);
		if (mask) inputs.require("mask", fileUrl(mask), call);
	}
	const { bytes, contentType } = await fileOf((await predict(call, inputs.values)).output, call);
	const type = mediaTypeOf(bytes) ?? contentType;
	if (!type?.startsWith("image/")) throw failureOfShape(call, "an image");
	return { kind: "value", output: { bytes, contentType: type } };
}

export async function speak(input: SpeechInput, call: Call): Promise<Answer<"text-to-speech">> {
	const inputs = new Inputs(await readModel(call));
	const { text, voice, language, speed, encoding } = input;
	if (encoding === "mulaw" || encoding === "alaw") throw unable(call, `has no encoding ${encoding}`);
	inputs.require("spoken", text, call);
	for (const [name, value] of Object.entries({ voice, language, speed })) inputs.set(name as "voice", value);
	inputs.set("format", encoding === "linear16" ? "wav" : encoding);
	const media = await fileOf((await predict(call, inputs.values)).output, call);
	const contentType = soundTypeOf(media) ?? media.contentType;
	return { kind: "value", output: { bytes: media.bytes, ...(contentType && { contentType }) } };
}

const Segments = z.array(z.looseObject({ start: z.number(), end: z.number(), text: z.string() }));

/** The format of Replicate's Whisper models. Others answer with the text alone. */
const Transcription = z.looseObject({
	text: z.string().optional(),
	transcription: z.string().optional(),
	detected_language: z.string().nullish(),
	language: z.string().nullish(),
	segments: Segments.nullish().catch(undefined),
});

export async function transcribe(
	input: TranscriptionInput,
	call: Call,
): Promise<Answer<"speech-recognition">> {
	const inputs = new Inputs(await readModel(call));
	const { audio, task, language, prompt, temperature } = input;
	inputs.require("audio", fileUrl(audio), call);
	const translates = inputs.set("task", task) || inputs.set("translate", task === "translate");
	if (task === "translate" && !translates) throw unable(call, "does not translate what it hears");
	for (const [name, value] of Object.entries({ language, vocabulary: prompt, temperature }))
		inputs.set(name as "language", value);
	const { output } = await predict(call, inputs.values);
	return { kind: "value", output: transcriptOf(output, call) };
}

function transcriptOf(output: unknown, call: Call): Transcript {
	const reply = Transcription.safeParse(output).data;
	if (!reply) return { text: textOf(output, call) };
	const { segments } = reply;
	const text = reply.text ?? reply.transcription ?? segments?.map((segment) => segment.text).join("");
	if (text === undefined) throw failureOfShape(call, "a transcript");
	const language = reply.detected_language ?? reply.language;
	return {
		text,
		...(language && { language }),
		...(segments && { segments: segments.map(({ start, end, text }) => ({ start, end, text })) }),
	};
}
