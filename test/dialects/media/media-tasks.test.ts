/** Properties of all readers of tasks with audio or images, for any inputs. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AiError } from "../../../src/core/errors.ts";
import type { NativeWriter, Reader } from "../../../src/dialects/dialect.ts";
import { deepgramReaders, deepgramWriters } from "../../../src/dialects/media/deepgram.ts";
import { moondreamReader, moondreamWriter } from "../../../src/dialects/media/moondream.ts";
import { type FormPart, MultipartForm } from "../../../src/dialects/media/multipart.ts";
import { openaiImages } from "../../../src/dialects/media/openai-images.ts";
import { openaiSpeech } from "../../../src/dialects/media/openai-speech.ts";
import { openaiTranscription } from "../../../src/dialects/media/openai-transcription.ts";
import { textToImageReaders, textToImageWriters } from "../../../src/dialects/media/text-to-image.ts";
import { textToSpeechReaders, textToSpeechWriters } from "../../../src/dialects/media/text-to-speech.ts";
import { turnReader, turnWriter } from "../../../src/dialects/media/turn-detection.ts";
import { visionReaders, visionWriters } from "../../../src/dialects/media/vision.ts";
import { whisperReaders, whisperWriters } from "../../../src/dialects/media/whisper.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { InputShape, OutputShape } from "../../../src/models/family.ts";
import type { Model } from "../../../src/models/model.ts";
import type { TaskTitle } from "../../../src/models/tasks.ts";
import { read } from "../read-write.ts";
import { base64, binaryString, jpeg, png, wav } from "../samples.ts";

const READERS: Partial<Record<InputShape, Reader>> = {
	...whisperReaders,
	...deepgramReaders,
	...textToSpeechReaders,
	...textToImageReaders,
	...visionReaders,
	moondream: moondreamReader,
	"smart-turn": turnReader,
};
const WRITERS: Partial<Record<OutputShape, NativeWriter>> = {
	...whisperWriters,
	...deepgramWriters,
	...textToSpeechWriters,
	...textToImageWriters,
	...visionWriters,
	"moondream-result": moondreamWriter,
	turn: turnWriter,
};
const ROUTES: Partial<Record<TaskTitle, Reader>> = {
	"Automatic Speech Recognition": openaiTranscription.reader,
	"Text-to-Speech": openaiSpeech.reader,
	"Text-to-Image": openaiImages.reader,
};
const cases = PRODUCT_MODELS.flatMap((model): [Model, Reader][] =>
	[READERS[model.input], ROUTES[model.task]].flatMap((reader): [Model, Reader][] =>
		READERS[model.input] && reader ? [[model, reader]] : [],
	),
);

const FILES = [wav(), png(8, 8), jpeg(8, 8), png(600, 1), new Uint8Array(), new Uint8Array([1, 2, 3])];
const TEXTS = [
	..."en translate luna linear16 wav opus png jpeg url b64_json vtt query caption point detect 512x512".split(
		" ",
	),
	"",
	"@",
	"日本",
	"https://example.com/a.png",
	...FILES.flatMap((file) => [base64(file), binaryString(file), `data:image/png;base64,${base64(file)}`]),
];
const names = (line: string): string[] => line.split(" ");
const FIELDS = [
	...names(
		"audio image image_b64 mask multipart prompt text input task target_lang source_lang language lang body",
	),
	...names(
		"speaker voice encoding container sample_rate width height size num_steps steps seed n strength guidance",
	),
	...names(
		"response_format output_format stream dtype max_tokens max_objects temperature contentType __proto__",
	),
];

const file = fc.constantFrom(...FILES);
const part: fc.Arbitrary<FormPart> = fc.oneof(
	fc.record({
		name: fc.constantFrom(
			...names("prompt model language width height steps response_format temperature file"),
		),
		value: fc.constantFrom("1", "256", "a", ...TEXTS.slice(0, 20)),
	}),
	fc.record({
		name: fc.constantFrom("file", "input_image_0", "input_image_3", "prompt"),
		bytes: file,
		contentType: fc.constantFrom("", "audio/wav", "image/png"),
		filename: fc.constant("f"),
	}),
);
const form = fc.array(part, { maxLength: 6 }).map((parts) => new MultipartForm(parts));
const value = fc.oneof(
	fc.constantFrom<unknown>(null, true, false, 0, 1, 4, 256, 1024, -1, 1.5, 1e300, ...TEXTS),
	file,
	file.map((bytes) => [...bytes]),
	fc.record({
		body: fc.oneof(file, form, fc.string()),
		contentType: fc.constantFrom("", "audio/wav", "image/png"),
	}),
	fc.jsonValue(),
);
const inputs = fc.oneof(
	fc.jsonValue(),
	fc.dictionary(fc.constantFrom(...FIELDS), value, { maxKeys: 5 }),
	// Enough to pass the schema.
	fc
		.tuple(value, fc.constantFrom("audio", "image", "multipart"), value, fc.constantFrom(...FIELDS))
		.map(([sent, field, option, name]) => ({
			model: "m",
			prompt: "p",
			text: "t",
			input: "i",
			[field]: sent,
			[name]: option,
		})),
);

describe("the readers of tasks with audio or images", () => {
	it("cover their models", () => {
		expect(cases.length).toBeGreaterThanOrEqual(25);
	});

	it("return a valid call or a client error for any inputs", () => {
		const tasks = new Set<string>();
		fc.assert(
			fc.property(fc.constantFrom(...cases), inputs, ([model, reader], sent) => {
				try {
					const { call } = read(reader, model, sent);
					tasks.add(call.task);
					if (call.task === "text-to-image") {
						expect(call.input.width).toBeGreaterThan(0);
						expect(call.input.height).toBeGreaterThan(0);
						expect(call.input.images.length).toBeLessThanOrEqual(4);
					}
					if (call.task === "speech-recognition") expect(call.input.audio.bytes.length).toBeGreaterThan(0);
				} catch (error) {
					if (!(error instanceof AiError)) throw error;
					expect(error.status).toBe(400);
					expect(error.description.length).toBeLessThan(2100);
				}
			}),
			{ numRuns: 4000 },
		);
		// Otherwise no call was checked above.
		expect(tasks.size).toBeGreaterThanOrEqual(6);
	});

	it("have JSON Schemas of inputs and outputs", () => {
		for (const [model, reader] of cases) {
			const schema = z.toJSONSchema(reader.schema(model), { io: "input", unrepresentable: "any" });
			expect(schema, model.id).toMatchObject({ type: "object", properties: expect.any(Object) });
			for (const [name, preset] of Object.entries(model.defaults)) {
				const field = schema.properties?.[name];
				if (field && reader === READERS[model.input])
					expect(field, `${model.id} ${name}`).toHaveProperty("default", preset);
			}
			const declared = WRITERS[model.output]?.schema;
			const written = typeof declared === "function" ? declared() : declared;
			if (written && typeof written !== "string")
				expect(z.toJSONSchema(written, { unrepresentable: "any" }), model.output).toHaveProperty("type");
		}
	});
});
