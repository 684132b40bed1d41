import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { fluxLive } from "../../../src/dialects/media/flux.ts";
import { productModel, read, refusal } from "../read-write.ts";
import { collect, framesFor, type TestSession, testSession, turn } from "./live.ts";

const FLUX = "@cf/deepgram/flux";
const INPUTS = { encoding: "linear16", sample_rate: "16000" };
const flux = productModel(FLUX);

const inputOf = (inputs: object) => read(fluxLive.reader, flux, { ...INPUTS, ...inputs }).call.input;
const frames = (session: TestSession) => framesFor(fluxLive, FLUX, INPUTS, session);

describe("Flux's inputs", () => {
	it("are text, with the catalogue's defaults", () => {
		expect(inputOf({})).toEqual({
			samples: { encoding: "linear16", sample_rate: 16_000, channels: 1 },
			division: { kind: "turns", eot_threshold: 0.7, eot_timeout_ms: 5000 },
		});
		expect(
			inputOf({
				sample_rate: "44100",
				eot_threshold: "0.8",
				eager_eot_threshold: "0.35",
				eot_timeout_ms: "1500",
				keyterm: ["Ganglion", "workerd"],
				tag: "call",
				mip_opt_out: "true",
			}),
		).toEqual({
			samples: { encoding: "linear16", sample_rate: 44_100, channels: 1 },
			prompt: "Ganglion, workerd",
			division: { kind: "turns", eot_threshold: 0.8, eager_eot_threshold: 0.35, eot_timeout_ms: 1500 },
		});
	});

	it("are refused if fields are missing or have other types", () => {
		expect(refusal(fluxLive.reader, flux, {})).toBe(
			"Error: required properties at '/' are 'encoding,sample_rate'",
		);
		expect(refusal(fluxLive.reader, flux, { ...INPUTS, sample_rate: 16000 })).toContain(
			"Type mismatch of '/sample_rate', 'string' not in 'number'",
		);
		expect(refusal(fluxLive.reader, flux, { ...INPUTS, encoding: "mulaw" })).toContain("'/encoding'");
	});

	it.each([
		[{ sample_rate: "3999" }, "sample_rate must be from 4000 to 96000"],
		[{ eot_threshold: "0.95" }, "eot_threshold must be from 0.5 to 0.9"],
		[{ eot_threshold: "high" }, "eot_threshold must be from 0.5 to 0.9"],
		[{ eager_eot_threshold: "0.2" }, "eager_eot_threshold must be from 0.3 to 0.9"],
		[{ eager_eot_threshold: "0.8" }, "eager_eot_threshold must not be above eot_threshold"],
		[{ eot_timeout_ms: "499" }, "eot_timeout_ms must be from 500 to 60000"],
	])("refuse %j", (inputs, reason) => {
		expect(() => inputOf(inputs)).toThrow(`8001: Invalid input: ${reason}`);
	});
});

describe("Flux's frames", () => {
	it("have sequence numbers, beginning with Connected", async () => {
		const session = testSession();
		const { readable } = frames(session);
		session.emit(
			turn("StartOfTurn", "Hi"),
			turn("EndOfTurn", "Hi there", { turn_index: 0, end: 1.4, end_of_turn_confidence: 0.8123 }),
			turn("Update", "", { turn_index: 1, start: 1.4, end: 1.64, end_of_turn_confidence: 0 }),
			{ kind: "ended", duration: 1.64, channels: 1 },
		);
		session.finish();
		expect(await collect(readable)).toEqual([
			{ type: "Connected", request_id: "request", sequence_id: 0 },
			{
				type: "TurnInfo",
				request_id: "request",
				sequence_id: 1,
				event: "StartOfTurn",
				turn_index: 0,
				audio_window_start: 0,
				audio_window_end: 1.2,
				transcript: "Hi",
				words: [{ word: "Hi", confidence: 0.9 }],
				end_of_turn_confidence: 0.25,
			},
			{
				type: "TurnInfo",
				request_id: "request",
				sequence_id: 2,
				event: "EndOfTurn",
				turn_index: 0,
				audio_window_start: 0,
				audio_window_end: 1.4,
				transcript: "Hi there",
				words: [
					{ word: "Hi", confidence: 0.9 },
					{ word: "there", confidence: 0.9 },
				],
				end_of_turn_confidence: 0.8123,
			},
			{
				type: "TurnInfo",
				request_id: "request",
				sequence_id: 3,
				event: "Update",
				turn_index: 1,
				audio_window_start: 1.4,
				audio_window_end: 1.64,
				transcript: "",
				words: [],
				end_of_turn_confidence: 0,
			},
		]);
	});

	it("accept audio and control messages until CloseStream", async () => {
		const session = testSession();
		const writer = frames(session).writable.getWriter();
		for (const frame of [
			new Uint8Array([1, 2]),
			'{"type":"KeepAlive"}',
			'{"type":"ForceEndTurn"}',
			'{"type":"Finalize","channel":0}',
			'{"type":"CloseStream"}',
			new Uint8Array([3]),
			"after the end",
		])
			await writer.write(frame);
		await writer.close();
		expect(session.commands).toEqual([
			{ kind: "audio", bytes: new Uint8Array([1, 2]) },
			{ kind: "finalize" },
			{ kind: "finalize" },
			"end",
		]);
	});

	it.each([
		"hello",
		"{",
		"null",
		"[]",
		'{"type":1}',
		'{"type":"Configure"}',
		'{"type":"constructor"}',
		'{"TYPE":"CloseStream"}',
	])("end with an error for %j", async (frame) => {
		const session = testSession();
		const { readable, writable } = frames(session);
		const writer = writable.getWriter();
		const description =
			"Invalid input: a text frame must be a JSON message whose type is one of CloseStream, ForceEndTurn, Finalize, KeepAlive";
		await expect(writer.write(frame)).rejects.toThrow(description);
		const reader = readable.getReader();
		expect(await reader.read()).toMatchObject({ value: expect.stringContaining("Connected") });
		expect(JSON.parse(String((await reader.read()).value))).toEqual({
			type: "Error",
			sequence_id: 1,
			code: "BAD_REQUEST",
			description,
		});
		await expect(reader.read()).rejects.toMatchObject({ key: "invalidInput" });
		await expect(writer.write(new Uint8Array([1]))).rejects.toThrow();
	});

	it("end with the engine's failure after its events", async () => {
		const session = testSession();
		const reader = frames(session).readable.getReader();
		session.emit(turn("StartOfTurn", "Hi"));
		expect(await reader.read()).toMatchObject({ value: expect.stringContaining("Connected") });
		expect(await reader.read()).toMatchObject({ value: expect.stringContaining("StartOfTurn") });
		session.fail(new AiError("upstreamUnavailable"));
		expect(JSON.parse(String((await reader.read()).value))).toEqual({
			type: "Error",
			sequence_id: 2,
			code: "INTERNAL_SERVER_ERROR",
			description: "Upstream service unavailable",
		});
		await expect(reader.read()).rejects.toMatchObject({ key: "upstreamUnavailable" });
	});

	it("do not disclose the message of an internal failure", async () => {
		const session = testSession();
		const reader = frames(session).readable.getReader();
		await reader.read();
		session.fail(new TypeError("secret"));
		expect(JSON.parse(String((await reader.read()).value))).toMatchObject({
			description: "Model execution failed",
		});
	});

	it("end the session when they are cancelled, also during a pending read", async () => {
		const session = testSession();
		const reader = frames(session).readable.getReader();
		await reader.read();
		const waiting = reader.read();
		await reader.cancel("left");
		expect(await waiting).toEqual({ done: true, value: undefined });
		expect(session.cancelled).toEqual(["left"]);
	});
});
