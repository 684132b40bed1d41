/** Text to speech: the model speaks a text part by part, so that a long one can be cancelled, and needs no more memory than a short one. */
import { ItemRefusal } from "./failure.ts";
import type { Item, Result } from "./model.ts";
import type { Run } from "./run.ts";
import { resampled } from "./sound.ts";
import { soundFile } from "./sound-files.ts";

const PART_CHARACTERS = 300;
/** Samples a second of OpenAI's `pcm`, which has no header that could say another one. */
const PCM_RATE = 24_000;

interface Sound {
	audio: Float32Array;
	sampling_rate: number;
}

export async function speak({ loaded, model, context }: Run, item: Item): Promise<Result> {
	const { text = "", language, format = "mp3", sampleRate } = item;
	const spoken = model.language;
	if (language && spoken && language.toLowerCase().split(/[-_]/)[0] !== spoken)
		throw new ItemRefusal(`language: the model speaks '${spoken}', not '${language.slice(0, 40)}'`);
	let isCancelled = false;
	context.onCancel(() => {
		isCancelled = true;
	});
	const sounds: Sound[] = [];
	for (const part of partsOf(text)) {
		if (isCancelled) return {};
		// Signs that the model does not know are left out, and marks without a sign have no sound.
		const [, tokens = 0] = loaded.tokenizer([part], {}).input_ids?.dims ?? [];
		if (tokens > 1) sounds.push((await loaded(part)) as Sound);
		context.token();
	}
	const [first] = sounds;
	if (!first) throw new ItemRefusal("input: the model knows no sign of the text");
	const rate = sampleRate ?? (format === "pcm" ? PCM_RATE : first.sampling_rate);
	const samples = concatenated(sounds.map(({ audio }) => audio));
	return { bytes: await soundFile(resampled(samples, first.sampling_rate, rate), rate, format) };
}

/** Sentences, several of them if they are short. A sentence that is too long is divided between words. */
export function partsOf(text: string): string[] {
	const sentences = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)];
	const pieces = sentences.flatMap(({ segment }) =>
		segment.length <= PART_CHARACTERS
			? segment
			: (segment.match(new RegExp(`.{1,${PART_CHARACTERS}}(?:\\s|$)|.{1,${PART_CHARACTERS}}`, "gsu")) ?? []),
	);
	const parts: string[] = [];
	for (const piece of pieces) {
		const joined = (parts.at(-1) ?? "") + piece;
		if (parts.length > 0 && joined.length <= PART_CHARACTERS) parts[parts.length - 1] = joined;
		else parts.push(piece);
	}
	return parts;
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
	const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.length;
	}
	return all;
}
