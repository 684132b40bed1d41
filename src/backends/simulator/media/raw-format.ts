/** Media types of samples without a file around them: `audio/pcm`, `audio/l16;rate=16000;channels=1`, `audio/mulaw`, … */

/** How samples without a header are written. */
interface RawFormat {
	code: "pcm" | "mulaw" | "alaw";
	bits: 8 | 16;
	/** Hertz. */
	rate: number;
	channels: number;
}

const DEFAULT_RATE_HZ = 16_000;
const TELEPHONE_RATE_HZ = 8_000;
const MOST_RATE_HZ = 384_000;
const MOST_CHANNELS = 32;

/**
 * 16-bit samples are taken as little-endian. RFC 2586 has `audio/l16` the other way round; the speech services that
 * use the name do not.
 */
export function rawFormatOf(contentType: string | undefined): RawFormat | undefined {
	const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
	const settings = new Map(
		parameters.map((parameter) => {
			const [name = "", value = ""] = parameter.split("=");
			return [name.trim(), value.trim().replaceAll('"', "")] as const;
		}),
	);
	const number = (most: number, ...names: string[]): number | undefined =>
		names
			.map((name) => Number(settings.get(name)))
			.find((value) => Number.isInteger(value) && value >= 1 && value <= most);
	const rate = number(MOST_RATE_HZ, "rate", "sample_rate", "samplerate");
	const channels = number(MOST_CHANNELS, "channels") ?? 1;
	switch (type.trim().replace("audio/x-", "audio/")) {
		case "audio/pcm":
		case "audio/raw":
		case "audio/l16":
		case "audio/linear16":
			return { code: "pcm", bits: 16, rate: rate ?? DEFAULT_RATE_HZ, channels };
		case "audio/mulaw":
		case "audio/pcmu":
			return { code: "mulaw", bits: 8, rate: rate ?? TELEPHONE_RATE_HZ, channels };
		case "audio/alaw":
		case "audio/pcma":
			return { code: "alaw", bits: 8, rate: rate ?? TELEPHONE_RATE_HZ, channels };
		default:
			return;
	}
}
