import { describe, expect, it } from "vitest";
import type { SpeechInput } from "../../../src/tasks/text-to-speech/index.ts";
import { outputOf } from "../ask.ts";
import { failureOf } from "../upstream.ts";
import { ask, OPENAI } from "./ask.ts";

const MP3 = new Uint8Array([0xff, 0xfb, 0x90, 0x64]);
const audio =
	(bytes: Uint8Array = MP3, contentType?: string) =>
	() =>
		new Response(bytes, contentType ? { headers: { "content-type": contentType } } : {});
const INPUT: SpeechInput = { text: "Hello", encoding: "mp3" };

async function bodyOf(
	input: Partial<SpeechInput>,
	options = {},
): Promise<Record<string, unknown> | undefined> {
	const asking = ask("text-to-speech", { ...INPUT, ...input }, audio(), options);
	await asking.answer;
	expect(asking.call.requests[0]?.url).toMatch(/\/v1\/audio\/speech$/);
	return asking.call.requests[0]?.json;
}

describe("speech", () => {
	it("is requested with the caller's fields and no default voice", async () => {
		expect(await bodyOf({})).toEqual({ model: "engine-model", input: "Hello", response_format: "mp3" });
		expect(await bodyOf({ voice: "af_heart", speed: 1.5, language: "en", sample_rate: 16_000 })).toEqual({
			model: "engine-model",
			input: "Hello",
			voice: "af_heart",
			response_format: "mp3",
			speed: 1.5,
			language: "en",
			sample_rate: 16_000,
		});
	});

	it.each([
		["nova", "nova"],
		["angus", "alloy"],
		[undefined, "alloy"],
	])("is requested from OpenAI with a supported voice: %s", async (voice, sent) => {
		expect(await bodyOf({ voice, language: "en" }, OPENAI)).toEqual({
			model: "engine-model",
			input: "Hello",
			voice: sent,
			response_format: "mp3",
		});
	});

	it.each([
		[{ encoding: "mp3" }, "mp3"],
		[{ encoding: "opus", container: "ogg" }, "opus"],
		[{ encoding: "aac" }, "aac"],
		[{ encoding: "flac" }, "flac"],
		[{ encoding: "linear16" }, "wav"],
		[{ encoding: "linear16", container: "wav" }, "wav"],
		[{ encoding: "linear16", container: "none" }, "pcm"],
	] as const)("%j is the format %s", async (input, format) => {
		expect((await bodyOf(input))?.response_format).toBe(format);
	});

	it.each(["mulaw", "alaw"] as const)("rejects the encoding %s", async (encoding) => {
		const asking = ask("text-to-speech", { ...INPUT, encoding }, audio());
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: `The backend 'lab' has no encoding ${encoding}`,
		});
		expect(asking.call.requests).toHaveLength(0);
	});

	it("rejects other sample rates of raw audio at OpenAI", async () => {
		const raw = { ...INPUT, encoding: "linear16", container: "none" } as const;
		const asking = ask("text-to-speech", { ...raw, sample_rate: 16_000 }, audio(), OPENAI);
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' has no sample_rate 16000 without a container",
		});
		expect(await bodyOf({ ...raw, sample_rate: 24_000 }, OPENAI)).toMatchObject({ response_format: "pcm" });
		expect(await bodyOf(raw, OPENAI)).toMatchObject({ response_format: "pcm" });
		expect(await bodyOf({ sample_rate: 16_000 }, OPENAI)).toMatchObject({ response_format: "mp3" });
		expect(await bodyOf({ ...raw, sample_rate: 16_000 })).toMatchObject({ sample_rate: 16_000 });
	});

	it("has the detected type, or else the requested one", async () => {
		const typeOf = async (input: Partial<SpeechInput>, bytes: Uint8Array, said?: string) =>
			(await outputOf(ask("text-to-speech", { ...INPUT, ...input }, audio(bytes, said)))).contentType;
		expect(await typeOf({}, MP3, "application/octet-stream")).toBe("audio/mpeg");
		expect(await typeOf({}, new TextEncoder().encode("OggS"), "audio/mpeg")).toBe("audio/ogg");
		const unknown = new Uint8Array([1, 2]);
		expect(await typeOf({}, unknown, "audio/x-own")).toBe("audio/mpeg");
		expect(await typeOf({ encoding: "aac" }, unknown)).toBe("audio/aac");
		expect(await typeOf({ encoding: "flac" }, unknown)).toBe("audio/flac");
		expect(await typeOf({ encoding: "opus" }, unknown)).toBe("audio/ogg");
		expect(await typeOf({ encoding: "linear16" }, unknown)).toBe("audio/wav");
		// Samples that happen to begin like a frame of MP3.
		expect(await typeOf({ encoding: "linear16", container: "none" }, MP3)).toBe("audio/pcm");
	});

	it("has the upstream's bytes", async () => {
		expect((await outputOf(ask("text-to-speech", INPUT, audio()))).bytes).toEqual(MP3);
	});
});
