import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { novaLive } from "../../../src/dialects/media/nova-live.ts";
import type { TranscriptionEvent } from "../../../src/tasks/live-transcription/types.ts";
import { productModel, read, refusal } from "../read-write.ts";
import { collect, framesFor, type TestSession, testSession, turn } from "./live.ts";

const NOVA = "@cf/deepgram/nova-3";
const INPUTS = { encoding: "linear16", sample_rate: "16000" };
const nova = productModel(NOVA);

const inputOf = (inputs: object) => read(novaLive.reader, nova, inputs).call.input;
const frames = (session: TestSession) => framesFor(novaLive, NOVA, INPUTS, session);

const segment = (
	fields: Partial<Extract<TranscriptionEvent, { kind: "segment" }>> = {},
): TranscriptionEvent => ({
	kind: "segment",
	start: 1.2,
	end: 3.5,
	transcript: "Hi there",
	words: [
		{ word: "Hi", start: 1.3, end: 1.5, confidence: 0.8 },
		{ word: "there", start: 1.5, end: 2, confidence: 0.9 },
	],
	is_final: true,
	speech_final: true,
	from_finalize: false,
	...fields,
});

describe("Nova's inputs over a websocket", () => {
	it("accept the request of Cloudflare's own voice client", () => {
		expect(
			inputOf({
				...INPUTS,
				language: "en",
				interim_results: "true",
				vad_events: "true",
				endpointing: "300",
				utterance_end_ms: "1000",
				smart_format: "true",
				punctuate: "true",
				keyterm: "Ganglion",
			}),
		).toEqual({
			samples: { encoding: "linear16", sample_rate: 16_000, channels: 1 },
			language: "en",
			prompt: "Ganglion",
			division: {
				kind: "segments",
				interim_results: true,
				vad_events: true,
				endpointing: 300,
				utterance_end_ms: 1000,
			},
		});
	});

	it("have Deepgram's defaults, and accept JSON types", () => {
		expect(inputOf(INPUTS)).toMatchObject({
			division: { kind: "segments", interim_results: false, vad_events: false, endpointing: 10 },
		});
		expect(
			inputOf({
				encoding: "mulaw",
				sample_rate: 8000,
				channels: 2,
				language: "en",
				detect_language: true,
				interim_results: true,
				endpointing: 500,
				utterance_end_ms: true,
			}),
		).toEqual({
			samples: { encoding: "mulaw", sample_rate: 8000, channels: 2 },
			division: {
				kind: "segments",
				interim_results: true,
				vad_events: false,
				endpointing: 500,
				utterance_end_ms: 1000,
			},
		});
	});

	it.each([false, "false"])("disable endpointing for %j", (off) => {
		expect(
			inputOf({ ...INPUTS, endpointing: off, utterance_end_ms: off, interim_results: off }),
		).toMatchObject({
			division: { kind: "segments", interim_results: false, vad_events: false },
		});
		expect(inputOf({ ...INPUTS, endpointing: off })).not.toHaveProperty("division.endpointing");
	});

	it("have no sample format for a container", () => {
		expect(inputOf({})).not.toHaveProperty("samples");
	});

	it("require the sample rate with an encoding", () => {
		expect(refusal(novaLive.reader, nova, { encoding: "linear16" })).toBe(
			"Error: required properties at '/' are 'encoding,sample_rate'",
		);
		expect(() => inputOf({ ...INPUTS, sample_rate: "1" })).toThrow("sample_rate must be from 4000 to 96000");
		expect(() => inputOf({ ...INPUTS, channels: 0 })).toThrow("channels must be from 1 to 32");
		expect(refusal(novaLive.reader, nova, { ...INPUTS, endpointing: "soon" })).toContain("'/endpointing'");
	});
});

describe("Nova's frames", () => {
	it("are results, starts of speech, ends of utterances, and the metadata last", async () => {
		const session = testSession();
		const { readable, writable } = frames(session);
		await writable.getWriter().write(new TextEncoder().encode("abc"));
		session.emit(
			{ kind: "speech-started", timestamp: 1.3 },
			segment({ is_final: false, speech_final: false }),
			turn("Update", "is not for Nova"),
			segment(),
			{ kind: "utterance-end", last_word_end: 2 },
			segment({ start: 3.5, end: 5, transcript: "", words: [], speech_final: false, from_finalize: true }),
			{ kind: "ended", duration: 5.01, channels: 1 },
		);
		session.finish();
		const metadata = {
			request_id: "request",
			model_info: { name: NOVA, version: nova.created, arch: "nova-3" },
			model_uuid: nova.uuid,
		};
		const results = {
			type: "Results",
			channel_index: [0, 1],
			duration: 2.3,
			start: 1.2,
			is_final: true,
			speech_final: true,
			channel: {
				alternatives: [
					{
						confidence: expect.closeTo(0.85),
						transcript: "Hi there",
						words: [
							{ word: "Hi", start: 1.3, end: 1.5, confidence: 0.8 },
							{ word: "there", start: 1.5, end: 2, confidence: 0.9 },
						],
					},
				],
			},
			metadata,
			from_finalize: false,
		};
		expect(await collect(readable)).toEqual([
			{ type: "SpeechStarted", channel: [0, 1], timestamp: 1.3 },
			{ ...results, is_final: false, speech_final: false },
			results,
			{ type: "UtteranceEnd", channel: [0, 1], last_word_end: 2 },
			{
				...results,
				duration: 1.5,
				start: 3.5,
				speech_final: false,
				channel: { alternatives: [{ confidence: 0, transcript: "", words: [] }] },
				from_finalize: true,
			},
			{
				type: "Metadata",
				transaction_key: "deprecated",
				request_id: "request",
				// The SHA-256 of "abc" (FIPS 180-2).
				sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
				created: "2026-11-21T12:00:00.000Z",
				duration: 5.01,
				channels: 1,
			},
		]);
	});

	it("end with an error for an invalid message", async () => {
		const session = testSession();
		const { readable, writable } = frames(session);
		const description =
			"Invalid input: a text frame must be a JSON message whose type is one of CloseStream, Finalize, KeepAlive";
		await expect(writable.getWriter().write('{"type":"ForceEndTurn"}')).rejects.toThrow(description);
		const reader = readable.getReader();
		expect(JSON.parse(String((await reader.read()).value))).toEqual({ type: "Error", description });
		await expect(reader.read()).rejects.toBeInstanceOf(AiError);
	});
});
