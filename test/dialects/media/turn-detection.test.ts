import { describe, expect, it } from "vitest";
import { turnReader, turnWriter } from "../../../src/dialects/media/turn-detection.ts";
import { productModel, read, refusal, write } from "../read-write.ts";
import { base64, wav } from "../samples.ts";

const smartTurn = productModel("@cf/pipecat-ai/smart-turn-v2");

describe("smart-turn", () => {
	it("reads base64, or a body with its type", () => {
		expect(turnReader.body).toEqual({ field: "audio", as: "wrapped" });
		for (const audio of [base64(wav()), { body: wav(), contentType: "audio/wav" }])
			expect(read(turnReader, smartTurn, { audio }).call).toEqual({
				task: "turn-detection",
				input: { audio: { bytes: wav(), contentType: "audio/wav" } },
			});
	});

	it("reads samples with their format", () => {
		const samples = new Uint8Array(new Float32Array([0, 0.5]).buffer);
		expect(read(turnReader, smartTurn, { audio: base64(samples), dtype: "float32" }).call.input).toEqual({
			audio: { bytes: samples },
			dtype: "float32",
		});
	});

	it("refuses invalid audio", () => {
		expect(refusal(turnReader, smartTurn, {})).toBe("Error: required properties at '/' are 'audio'");
		expect(refusal(turnReader, smartTurn, { audio: base64(wav()), dtype: "int16" })).toBe(
			"Error: enum value not in uint8,float32,float64 at '/dtype'",
		);
		expect(() => read(turnReader, smartTurn, { audio: "%" })).toThrow("5004");
		expect(() => read(turnReader, smartTurn, { audio: "" })).toThrow("8001");
	});

	it("writes completeness and probability", () => {
		const parsed = read(turnReader, smartTurn, { audio: base64(wav()) });
		expect(write(turnWriter, parsed, "turn-detection", { is_complete: true, probability: 0.9 })).toEqual({
			kind: "json",
			value: { is_complete: true, probability: 0.9 },
		});
	});
});
