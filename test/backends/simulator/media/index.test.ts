import fc from "fast-check";
import { decode as decodePng } from "fast-png";
import { expect, it } from "vitest";
import type { CallContext } from "../../../../src/backends/backend.ts";
import { mediaTasks } from "../../../../src/backends/simulator/media/index.ts";
import { AiError } from "../../../../src/core/errors.ts";
import type { Model } from "../../../../src/models/model.ts";
import { RED_SQUARE } from "./fixtures.ts";

const model: Model = {
	id: "@cf/example/model",
	uuid: "6f1f1a2e-0000-4000-8000-000000000000",
	source: 1,
	task: "Text-to-Image",
	author: "example",
	created: "2026-01-01",
	description: "",
	status: "active",
	input: "tti-sd",
	output: "image-png",
	defaults: {},
	capabilities: [],
	prices: [],
	tags: [],
};
const context: CallContext = { model, signal: new AbortController().signal };

it("answers every task with a value", async () => {
	const painted = await mediaTasks["text-to-image"](
		{ prompt: "a red hill", width: 32, height: 32, images: [], format: "png" },
		context,
	);
	if (painted.kind !== "value") throw new Error("no value");
	expect(decodePng(painted.output.bytes)).toMatchObject({ width: 32, height: 32 });
	const image = painted.output;

	expect(await mediaTasks["image-to-text"]({ image }, context)).toMatchObject({
		kind: "value",
		output: {
			description: "Simulated description of a PNG image of 32 by 32 pixels: no model looked at it.",
		},
	});
	expect(await mediaTasks["image-classification"]({ image }, context)).toMatchObject({
		kind: "value",
		output: { labels: { length: 5 } },
	});
	expect(
		await mediaTasks["object-detection"]({ image: { bytes: RED_SQUARE.palettePng } }, context),
	).toMatchObject({
		kind: "value",
		output: { objects: [{ label: "simulated object" }], width: 24, height: 16 },
	});

	const said = await mediaTasks["text-to-speech"]({ text: "Good morning.", encoding: "linear16" }, context);
	if (said.kind !== "value") throw new Error("no value");
	const audio = said.output;
	expect(await mediaTasks["speech-recognition"]({ audio, task: "transcribe" }, context)).toMatchObject({
		kind: "value",
		output: { text: "Good morning.", language: "en" },
	});
	expect(await mediaTasks["turn-detection"]({ audio }, context)).toEqual({
		kind: "value",
		output: { is_complete: false, probability: 0.5 },
	});
});

/** Beginnings by which formats are known, so that random bytes get past the door. */
const MAGIC = [
	"",
	"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x04\x08\x02\0\0\0",
	"\xff\xd8\xff",
	"GIF89a",
	"BM",
	"RIFF\xff\0\0\0WEBPVP8X",
	"RIFF\xff\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0",
	"RIFX\0\0\0\xffWAVE",
	"\0\0\0\x14ftypavif\0\0\0\0mif1",
	"\0\0\0\x14ftypM4A \0\0\0\0isom",
	"ID3\x04\0\0\0\0\0\x40",
	"\xff\xfb\x90\x64",
	"\xff\xf1\x50\x80",
	"OggS\0\x02",
	"fLaC\0\0\0\x22",
	"\x1a\x45\xdf\xa3",
	"FORM\0\0\0\xffAIFF",
	"MPCK",
	"wvpk",
	"DSD ",
];

it("fails only with AiError, for any bytes", async () => {
	const bytesArbitrary = fc
		.tuple(fc.constantFrom(...MAGIC), fc.uint8Array({ maxLength: 100 }))
		.map(([magic, rest]) => Uint8Array.from([...[...magic].map((c) => c.charCodeAt(0)), ...rest]));
	const contentTypes = fc.constantFrom(
		undefined,
		"audio/mpeg",
		"audio/wav",
		"audio/pcm;rate=8000",
		"nonsense",
	);
	await fc.assert(
		fc.asyncProperty(bytesArbitrary, contentTypes, async (bytes, contentType) => {
			const media = { bytes, ...(contentType && { contentType }) };
			const image = { prompt: "", width: 2, height: 2, format: "png" as const };
			const answers = await Promise.allSettled([
				mediaTasks["speech-recognition"]({ audio: media, task: "transcribe" }, context),
				mediaTasks["turn-detection"]({ audio: media }, context),
				mediaTasks["image-to-text"]({ image: media }, context),
				mediaTasks["image-classification"]({ image: media }, context),
				mediaTasks["object-detection"]({ image: media }, context),
				mediaTasks["text-to-image"]({ ...image, images: [media] }, context),
				mediaTasks["text-to-image"]({ ...image, images: [], mask: media }, context),
			]);
			for (const answer of answers) {
				if (answer.status === "fulfilled") expect(answer.value.kind).toBe("value");
				else expect(answer.reason).toBeInstanceOf(AiError);
				if (answer.status === "rejected") expect((answer.reason as AiError).retryable).toBe(false);
			}
		}),
		{ numRuns: 300 },
	);
});
