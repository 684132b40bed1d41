/** Reads the headers of audio files. Nothing is decoded, so all formats with readable headers are supported. */
import { type IAudioMetadata, parseBuffer } from "music-metadata";
import { AiError } from "../../../core/errors.ts";
import { own } from "../../../core/own.ts";
import type { Media } from "../../../media/media.ts";
import { hasTextAt, mediaTypeOf } from "../../../media/types.ts";
import { taggedText } from "./audio-tags.ts";
import { MeteredBytes } from "./metered-bytes.ts";
import { rawFormatOf } from "./raw-format.ts";
import { isWav } from "./riff.ts";

export interface AudioMetadata {
	/** `WAV`, `MP3`, `FLAC`, …; `raw PCM`. */
	format: string;
	/** Seconds. Recordings that were streamed to a file often do not know it. */
	duration?: number;
	/** Hertz. */
	rate?: number;
	channels?: number;
	/** The spoken text, in files of the simulator. */
	text?: string;
}

/** Throws `invalidInput` with the product's message if the bytes are no audio file. */
export async function readAudioMetadata({ bytes, contentType }: Media): Promise<AudioMetadata> {
	const raw = rawFormatOf(contentType);
	// Raw samples may resemble the start of an MP3, but not the header of a WAV file.
	if (raw && bytes.length > 0 && !isWav(bytes)) {
		const { code, bits, rate, channels } = raw;
		const duration = bytes.length / ((rate * channels * bits) / 8);
		return { format: `raw ${code === "pcm" ? "PCM" : code}`, duration, rate, channels };
	}
	const metadata = await parse(headersOf(bytes)).catch((cause: unknown) => {
		throw new AiError("invalidInput", undefined, { cause });
	});
	const { container, codec, duration, sampleRate, numberOfChannels } = metadata.format;
	const text = taggedText(metadata);
	return {
		format: nameOf(container, codec),
		...(isPositive(duration) && { duration }),
		...(isPositive(sampleRate) && { rate: sampleRate }),
		...(isPositive(numberOfChannels) && { channels: numberOfChannels }),
		...(text !== undefined && { text }),
	};
}

/** The identifier of a cluster, which has the sound: RFC 9559, section 5.1.3. */
const CLUSTER = "\x1f\x43\xb6\x75";
/** The headers of a recording take some hundreds of bytes. */
const MAX_HEADER_BYTES = 64 * 1024;

/** WebM without its clusters: browsers record clusters of unknown length, which the parser refuses. Other formats as they are. */
function headersOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
	if (mediaTypeOf(bytes) !== "video/webm") return bytes;
	const first = bytes.subarray(0, MAX_HEADER_BYTES);
	const end = first.findIndex((_, at) => hasTextAt(first, at, CLUSTER));
	return end < 0 ? bytes : bytes.subarray(0, end);
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
	const name = own(FORMAT_NAMES, container) ?? container.split("/")[0] ?? "";
	return /^[\w .-]+$/.test(name) ? name : /^[\w .-]+$/.test(codec) ? codec : "unnamed";
}
