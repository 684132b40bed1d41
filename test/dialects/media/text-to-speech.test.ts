import { describe, expect, it } from "vitest";
import { textToSpeechReaders, textToSpeechWriters } from "../../../src/dialects/media/text-to-speech.ts";
import { productModel, read, refusal, write } from "../read-write.ts";
import { base64, wav } from "../samples.ts";

const melotts = productModel("@cf/myshell-ai/melotts");
const aura1 = productModel("@cf/deepgram/aura-1");
const aura2es = productModel("@cf/deepgram/aura-2-es");
const { "tts-melotts": melo, "tts-aura": aura } = textToSpeechReaders;

describe("tts-melotts", () => {
	it("reads a prompt, with English as the default", () => {
		expect(read(melo, melotts, { prompt: "Hola", lang: "es" }).call).toEqual({
			task: "text-to-speech",
			input: { text: "Hola", language: "es", encoding: "mp3" },
		});
		expect(read(melo, melotts, { prompt: "Hi" }).call.input).toMatchObject({ language: "en" });
		expect(refusal(melo, melotts, { text: "Hi" })).toBe("Error: required properties at '/' are 'prompt'");
		expect(refusal(melo, melotts, { prompt: "" })).toBe("Error: Length of '/prompt' must be >= 1 not met");
	});
});

describe("tts-aura", () => {
	it("reads a text, with the model's own voice and MP3 as defaults", () => {
		expect(read(aura, aura1, { text: "Hi", voice: "nova", speed: 2 }).call).toEqual({
			task: "text-to-speech",
			input: { text: "Hi", voice: "angus", encoding: "mp3" },
		});
		expect(
			read(aura, aura1, {
				text: "Hi",
				speaker: "luna",
				encoding: "linear16",
				container: "wav",
				sample_rate: 16000,
				bit_rate: 32000,
			}).call.input,
		).toEqual({
			text: "Hi",
			voice: "luna",
			encoding: "linear16",
			container: "wav",
			sample_rate: 16000,
			bit_rate: 32000,
		});
	});

	it("validates the voices of the catalogue's models, and forwards those of an operator's model", () => {
		expect(read(aura, aura2es, { text: "Hola" }).call.input).toMatchObject({ voice: "aquila" });
		expect(read(aura, aura2es, { text: "Hola", speaker: "sirio" }).call.input).toMatchObject({
			voice: "sirio",
		});
		expect(refusal(aura, aura1, { text: "Hola", speaker: "sirio" })).toBe(
			"Error: enum value not in angus,asteria,arcas,orion,orpheus,athena,luna,zeus,perseus,helios,hera,stella at '/speaker'",
		);
		const custom = { ...aura1, id: "@own/kokoro", defaults: {} };
		expect(read(aura, custom, { text: "Hi", speaker: "af_bella" }).call.input).toMatchObject({
			voice: "af_bella",
		});
		expect(read(aura, custom, { text: "Hi" }).call.input).not.toHaveProperty("voice");
	});

	it("refuses an encoding in an unsupported container", () => {
		for (const [encoding, container] of [
			["mp3", "wav"],
			["opus", "none"],
			["linear16", "ogg"],
			[undefined, "ogg"],
		])
			expect(() => read(aura, aura1, { text: "Hi", encoding, container })).toThrow("8001: Invalid input: '");
		for (const [encoding, container] of [
			["mp3", "none"],
			["opus", "ogg"],
			["mulaw", "wav"],
		])
			expect(read(aura, aura1, { text: "Hi", encoding, container }).call.input).toMatchObject({ container });
	});

	it("refuses invalid and unsupported rates", () => {
		for (const sample_rate of [7999, 48_001, 1e300])
			expect(() => read(aura, aura1, { text: "Hi", sample_rate })).toThrow(
				"8001: Invalid input: 'sample_rate' must be from 8000 to 48000",
			);
		expect(() => read(aura, aura1, { text: "Hi", bit_rate: 650_001 })).toThrow(
			"8001: Invalid input: 'bit_rate'",
		);
		expect(refusal(aura, aura1, { text: "Hi", sample_rate: 0 })).toBe("Error: '/sample_rate' must be > 0");
		expect(refusal(aura, aura1, { text: 1 })).toBe(
			"Error: Type mismatch of '/text', 'string' not in 'number','integer'",
		);
	});
});

describe("audio-b64", () => {
	it("is JSON with the file", () => {
		const parsed = read(melo, melotts, { prompt: "Hi" });
		const media = { bytes: wav(), contentType: "audio/wav" };
		expect(write(textToSpeechWriters["audio-b64"], parsed, "text-to-speech", media)).toEqual({
			kind: "json",
			value: { audio: base64(wav()) },
		});
	});
});

describe("audio-mpeg", () => {
	const typeOf = (inputs: object, contentType: string | undefined, bytes: Uint8Array<ArrayBuffer>) => {
		const media = { bytes, ...(contentType && { contentType }) };
		const parsed = read(aura, aura1, { text: "Hi", ...inputs });
		const rendered = write(textToSpeechWriters["audio-mpeg"], parsed, "text-to-speech", media);
		if (rendered.kind !== "bytes") throw new Error(rendered.kind);
		expect(rendered.media.bytes).toBe(bytes);
		return rendered.media.contentType;
	};

	it("is the audio with the engine's type, the detected type, or the requested type", () => {
		const samples = new Uint8Array([1, 2, 3, 4]);
		expect(typeOf({}, "audio/mpeg", samples)).toBe("audio/mpeg");
		expect(typeOf({}, undefined, wav())).toBe("audio/wav");
		expect(typeOf({}, undefined, samples)).toBe("audio/mpeg");
		expect(typeOf({ encoding: "opus" }, undefined, samples)).toBe("audio/ogg");
		expect(typeOf({ encoding: "linear16", sample_rate: 8000 }, undefined, samples)).toBe(
			"audio/L16;rate=8000",
		);
		expect(typeOf({ encoding: "linear16" }, undefined, samples)).toBe("audio/L16");
	});
});
