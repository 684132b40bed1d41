/**
 * A voice that says something like the letters: formants for vowels, a hum or noise for consonants. Each vowel is one
 * short ringing grain, laid down once a pitch period; that is a few operations a sample. No one will understand a
 * word, but it has words, sentences and a pitch of its own, and ends when the text ends.
 */
import { hash, numbersFrom } from "./seeded.ts";
import type { SpokenWord } from "./timing.ts";

const LOWEST_PITCH_HZ = 95;
const PITCH_RANGE_HZ = 130;
const GRAIN_SECONDS = 0.012;
const FADE_SECONDS = 0.012;
const LOUDEST = 0.7 * 0x7fff;
const HUM_LEVEL = 0.4;
const HISS_LEVEL = 0.12;

/** Resonances in hertz, and how loud they are. */
const FORMANTS = {
	a: [730, 1090, 2440],
	e: [530, 1840, 2480],
	i: [270, 2290, 3010],
	o: [570, 840, 2410],
	u: [300, 870, 2240],
	hum: [250, 1000, 2200],
} as const;
const FORMANT_LEVELS = [1, 0.5, 0.25] as const;
const BANDWIDTH_HZ = 90;

type Phone = keyof typeof FORMANTS | "hiss";

const VOWELS = ["a", "e", "i", "o", "u"] as const;
const HISSES = new Set("cfhkpqstxzß");
const LATIN = /\p{sc=Latin}/u;

/** One a letter. Scripts that this does not read sing a vowel of their own for each character. */
function phonesOf(word: string): Phone[] {
	const letters = word.match(/[\p{L}\p{N}]/gu) ?? [];
	const phones = letters.map((letter): Phone => {
		const [base = letter] = letter.normalize("NFD").toLowerCase();
		if (!LATIN.test(base)) return VOWELS[(base.codePointAt(0) ?? 0) % VOWELS.length] ?? "a";
		if (HISSES.has(base)) return "hiss";
		return base === "y" ? "i" : (VOWELS.find((vowel) => vowel === base) ?? "hum");
	});
	return phones.length > 0 ? phones : ["hum"];
}

function grainOf(formants: readonly number[], rate: number, pitch: number): Float32Array {
	// A higher voice has a shorter throat.
	const throat = (pitch / 150) ** 0.25;
	return Float32Array.from({ length: Math.ceil(GRAIN_SECONDS * rate) }, (_, i) => {
		const time = i / rate;
		const ring = Math.exp(-Math.PI * BANDWIDTH_HZ * time);
		return formants.reduce((sum, formant, k) => {
			const hertz = formant * throat;
			const level = hertz < rate * 0.45 ? (FORMANT_LEVELS[k] ?? 0) : 0;
			return sum + level * ring * Math.sin(2 * Math.PI * hertz * time);
		}, 0);
	});
}

export interface Utterance {
	/** With their places in seconds. */
	words: (SpokenWord & { start: number; end: number })[];
	/** Seconds, the last pause included. */
	duration: number;
	/** Its name makes its pitch. */
	voice: string;
	/** Samples a second. */
	rate: number;
}

/** One channel, 16 bits. */
export function speak({ words, duration, voice, rate }: Utterance): Int16Array {
	const sound = new Float32Array(Math.round(duration * rate));
	const pitch = LOWEST_PITCH_HZ + (hash(voice) % PITCH_RANGE_HZ);
	const noise = numbersFrom(hash(voice));
	const grains = new Map<Phone, Float32Array>(
		Object.entries(FORMANTS).map(([phone, formants]) => [phone as Phone, grainOf(formants, rate, pitch)]),
	);
	for (const [index, word] of words.entries()) {
		const phones = phonesOf(word.text);
		const length = (word.end - word.start) / phones.length;
		const tone = pitch * melody(word, index);
		for (const [i, phone] of phones.entries()) {
			const from = Math.round((word.start + i * length) * rate);
			const to = Math.min(sound.length, Math.round((word.start + (i + 1) * length) * rate));
			const grain = grains.get(phone);
			if (grain) hum({ sound, from, to, grain, period: rate / tone, level: phone === "hum" ? HUM_LEVEL : 1 });
			else for (let at = from; at < to; at++) sound[at] = HISS_LEVEL * (2 * noise() - 1);
		}
		fade(sound, Math.round(word.start * rate), Math.round(word.end * rate), Math.round(FADE_SECONDS * rate));
	}
	const loudest = sound.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
	return Int16Array.from(sound, (sample) => (loudest === 0 ? 0 : (sample / loudest) * LOUDEST));
}

/** Moves about from word to word; falls at the end of a sentence, and rises at the end of a question. */
function melody({ text, endsSentence }: SpokenWord, index: number): number {
	if (/[?？؟]/u.test(text)) return 1.25;
	return endsSentence ? 0.85 : 1 + 0.1 * Math.sin(index * 1.7);
}

interface Hum {
	sound: Float32Array;
	from: number;
	to: number;
	grain: Float32Array;
	/** Samples. */
	period: number;
	level: number;
}

function hum({ sound, from, to, grain, period, level }: Hum): void {
	for (let pulse = from; pulse < to; pulse += period) {
		const start = Math.round(pulse);
		const end = Math.min(grain.length, to - start);
		for (let i = 0; i < end; i++) sound[start + i] = (sound[start + i] ?? 0) + level * (grain[i] ?? 0);
	}
}

/** No click where a word begins and ends. */
function fade(sound: Float32Array, from: number, to: number, length: number): void {
	const steps = Math.min(length, (to - from) >> 1);
	for (let i = 0; i < steps; i++) {
		sound[from + i] = (sound[from + i] ?? 0) * (i / steps);
		sound[to - 1 - i] = (sound[to - 1 - i] ?? 0) * (i / steps);
	}
}
