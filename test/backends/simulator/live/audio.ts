/** Sounds that tests make, 16-bit samples at 16 kHz unless they say otherwise. */
import type { ListenCommand, Segments, Turns } from "../../../../src/tasks/live-transcription/types.ts";

export const RATE = 16_000;

/** Sine of 440 Hz, at half of full scale. */
export function tone(seconds: number, rate = RATE, channels = 1): Uint8Array<ArrayBuffer> {
	const samples = new Int16Array(Math.round(seconds * rate) * channels);
	for (let i = 0; i < samples.length; i++)
		samples[i] = 0x4000 * Math.sin((2 * Math.PI * 440 * Math.floor(i / channels)) / rate);
	return new Uint8Array(samples.buffer);
}

export const silence = (seconds: number, rate = RATE): Uint8Array<ArrayBuffer> =>
	new Uint8Array(Math.round(seconds * rate) * 2);

export function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
	const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.length;
	}
	return whole;
}

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
