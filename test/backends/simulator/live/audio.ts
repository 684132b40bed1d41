/** Audio for live transcription: 16-bit samples at 16 kHz unless the test names another rate. */
import type { ListenCommand, Segments, Turns } from "../../../../src/tasks/live-transcription/types.ts";

export const RATE = 16_000;

export const silence = (seconds: number, rate = RATE): Uint8Array<ArrayBuffer> =>
	new Uint8Array(Math.round(seconds * rate) * 2);

export const audio = (bytes: Uint8Array): ListenCommand => ({ kind: "audio", bytes });

export const turns = (rules: Partial<Turns> = {}): Turns => ({
	kind: "turns",
	eot_threshold: 0.7,
	eot_timeout_ms: 5000,
	...rules,
});

export const segments = (rules: Partial<Segments> = {}): Segments => ({
	kind: "segments",
	interim_results: false,
	vad_events: false,
	endpointing: 300,
	...rules,
});
