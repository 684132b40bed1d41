import { expect, it } from "vitest";
import { rawFormatOf } from "../../../../src/backends/simulator/media/raw-format.ts";

it.each([
	["audio/pcm", { code: "pcm", bits: 16, rate: 16_000, channels: 1 }],
	["audio/l16;rate=16000", { code: "pcm", bits: 16, rate: 16_000, channels: 1 }],
	["Audio/L16; Rate=44100; channels=2", { code: "pcm", bits: 16, rate: 44_100, channels: 2 }],
	['audio/x-pcm;sample_rate="24000"', { code: "pcm", bits: 16, rate: 24_000, channels: 1 }],
	["audio/raw;rate=nonsense;channels=0", { code: "pcm", bits: 16, rate: 16_000, channels: 1 }],
	["audio/x-mulaw", { code: "mulaw", bits: 8, rate: 8_000, channels: 1 }],
	["audio/PCMA;rate=16000", { code: "alaw", bits: 8, rate: 16_000, channels: 1 }],
	["audio/mpeg", undefined],
	["application/octet-stream", undefined],
	[";;=", undefined],
	[undefined, undefined],
])("reads %j", (contentType, format) => {
	expect(rawFormatOf(contentType)).toEqual(format);
});
