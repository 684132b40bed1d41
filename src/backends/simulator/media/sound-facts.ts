/** What a sound file says of itself: nothing is decoded, so any format with readable headers will do. */
import { type IAudioMetadata, parseBuffer } from "music-metadata";
import { AiError } from "../../../errors.ts";
import { MeteredBytes } from "../../../media/metered-bytes.ts";
import type { Media } from "../../../tasks/media.ts";
import { rawFormatOf } from "./raw-format.ts";
import { isWav, wavChunks } from "./riff.ts";
import { spokenTextOf } from "./spoken-text.ts";
import { marked } from "./watermark.ts";

/** Of the chunk that says how a WAV file's samples are written. */
const LEAST_FORMAT_BYTES = 16;

export interface SoundFacts {
	/** `WAV`, `MP3`, `FLAC`, …; `raw PCM`. */
	format: string;
	/** Seconds. Recordings that were streamed to a file often do not know it. */
	duration?: number;
	/** Hertz. */
	rate?: number;
	channels?: number;
	/** What the simulator said, if it made the file. */
	spoken?: string;
}

/** Throws `invalidInput` with the product's own sentence where the bytes are no sound. */
export async function readSoundFacts({ bytes, contentType }: Media): Promise<SoundFacts> {
	const raw = rawFormatOf(contentType);
	// Samples can look like the start of an MP3; the header of a WAV file is no accident.
	if (raw && bytes.length > 0 && !isWav(bytes)) {
		const { code, bits, rate, channels } = raw;
		const duration = bytes.length / ((rate * channels * bits) / 8);
		const spoken = bits <= 16 && channels === 1 ? marked(bytes, bits === 16 ? 2 : 1) : undefined;
		return {
			format: `raw ${code === "pcm" ? "PCM" : code}`,
			duration,
			rate,
			channels,
			...(spoken !== undefined && { spoken }),
		};
	}
	const metadata = await parse(bytes).catch((cause: unknown) => {
		throw new AiError("invalidInput", undefined, { cause });
	});
	const { container, codec, duration, sampleRate, numberOfChannels } = metadata.format;
	const spoken = spokenTextOf(metadata) ?? (isWav(bytes) ? markedWav(bytes) : undefined);
	return {
		format: nameOf(container, codec),
		...(isPositive(duration) && { duration }),
		...(isPositive(sampleRate) && { rate: sampleRate }),
		...(isPositive(numberOfChannels) && { channels: numberOfChannels }),
		...(spoken !== undefined && { spoken }),
	};
}

/** The simulator's samples in a WAV file of somebody else. */
function markedWav(bytes: Uint8Array): string | undefined {
	const { format, data } = wavChunks(bytes) ?? {};
	if (!format || !data || format.length < LEAST_FORMAT_BYTES) return undefined;
	const view = new DataView(format.buffer, format.byteOffset, format.byteLength);
	const [channels, frameBytes] = [view.getUint16(2, true), view.getUint16(12, true)];
	return channels === 1 && (frameBytes === 1 || frameBytes === 2) ? marked(data, frameBytes) : undefined;
}

const isPositive = (value: number | undefined): value is number =>
	value !== undefined && Number.isFinite(value) && value > 0;

async function parse(bytes: Uint8Array<ArrayBuffer>): Promise<IAudioMetadata> {
	const metadata = await parseBuffer(MeteredBytes.over(bytes), undefined, { skipCovers: true });
	const { hasAudio, sampleRate, duration } = metadata.format;
	if (!hasAudio || !(isPositive(sampleRate) || isPositive(duration))) throw new TypeError("no audio stream");
	if (isPositive(duration)) return metadata;
	// Not in the headers: count the frames, if there are not too many.
	const counted = parseBuffer(MeteredBytes.over(bytes), undefined, { skipCovers: true, duration: true });
	return counted.catch(() => metadata);
}

const FORMAT_NAMES: Record<string, string> = {
	WAVE: "WAV",
	MPEG: "MP3",
	"ADTS/MPEG-4": "AAC",
	"ADTS/MPEG-2": "AAC",
	"EBML/webm": "WebM",
	"EBML/matroska": "Matroska",
};

/** The parser names MP4 files by their brands (`M4A/mp42/isom`). */
function nameOf(container = "", codec = ""): string {
	const name = FORMAT_NAMES[container] ?? container.split("/")[0] ?? "";
	return /^[\w .-]+$/.test(name) ? name : /^[\w .-]+$/.test(codec) ? codec : "unnamed";
}
