import { describe, expect, it } from "vitest";
import { detectTurn } from "../../../../src/backends/simulator/media/detect-turn.ts";
import { textToSpeech } from "../../../../src/backends/simulator/media/text-to-speech.ts";
import type { TurnInput } from "../../../../src/tasks/turn-detection/index.ts";

const wav = await textToSpeech({ text: "Hello.", encoding: "linear16" });
const bytes = new Uint8Array(8_000);

it.each<[string, TurnInput]>([
	["WAV", { audio: wav }],
	["samples with a dtype", { audio: { bytes }, dtype: "float32" }],
	["samples with a content type", { audio: { bytes, contentType: "audio/mulaw" } }],
])("does not decide whether someone has finished: %s", async (_, input) => {
	expect(await detectTurn(input)).toEqual({ is_complete: false, probability: 0.5 });
});

describe("refuses with 8001", () => {
	it.each<[string, TurnInput]>([
		["nothing", { audio: { bytes: new Uint8Array() }, dtype: "uint8" }],
		["samples of which nothing is known", { audio: { bytes } }],
		["another format", { audio: { bytes, contentType: "audio/mpeg" } }],
	])("%s", async (_, input) => {
		await expect(detectTurn(input)).rejects.toMatchObject({
			code: 8001,
			description:
				"audio must be a WAV file, or raw samples whose dtype (uint8, float32, float64; 16 kHz) or content type says how they are written.",
		});
	});
});
