/** Files of other makers, and the few bytes of them that a format's header needs. */

export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
	Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** 24 by 16 pixels, white, with a red square (#d02020) from 4,4 to 12,12; written by libvips. */
export const RED_SQUARE = {
	progressiveJpeg: fromBase64(
		"/9j/2wBDAAoHBwgHBgoICAgLCgoLDhgQDg0NDh0VFhEYIx8lJCIfIiEmKzcvJik0KSEiMEExNDk7Pj4+JS5ESUM8SDc9Pjv/2wBDAQoLCw4NDhwQEBw7KCIoOzs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozv/wgARCAAQABgDASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAUG/8QAFQEBAQAAAAAAAAAAAAAAAAAAAgT/2gAMAwEAAhADEAAAAdEBTRDm/8QAFxABAQEBAAAAAAAAAAAAAAAABBQAEP/aAAgBAQABBQJa5cRdXFkqxCS8/8QAFxEAAwEAAAAAAAAAAAAAAAAAEBMjYv/aAAgBAwEBPwGKdD//xAAXEQADAQAAAAAAAAAAAAAAAAAQEiJh/9oACAECAQE/AabB/8QAGRAAAgMBAAAAAAAAAAAAAAAAAhIAImEQ/9oACAEBAAY/AhozbCoq7wbquQrs2c//xAAZEAEAAwEBAAAAAAAAAAAAAAARUXHRABD/2gAIAQEAAT8hsdADeodJXPLHSUzqHQB3z//aAAwDAQACAAMAAAAQAA//xAAZEQABBQAAAAAAAAAAAAAAAAAQETFRkfD/2gAIAQMBAT8QwWaYf//EABQRAQAAAAAAAAAAAAAAAAAAABD/2gAIAQIBAT8QB//EABoQAAEFAQAAAAAAAAAAAAAAAAEAEVHR8BD/2gAIAQEAAT8QwniC9FhPEBrcwniQ1lhPEl6c/9k=",
	),
	cmykJpeg: fromBase64(
		"/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAQCwwODAoQDg0OEhEQExgoGhgWFhgxIyUdKDozPTw5Mzg3QEhcTkBEV0U3OFBtUVdfYmdoZz5NcXlwZHhcZWdj/8AAFAgAEAAYBEMRAE0RAFkRAEsRAP/EABcAAQEBAQAAAAAAAAAAAAAAAAAGAwf/xAAiEAABAwIGAwAAAAAAAAAAAAASABEUAQYDExYkQ2EhMTL/2gAOBEMATQBZAEsAAD8A6AqC6bm07F2kiQfIAi3VX9qguq59ORdnJkHygIj1V/pXmLiZbeHdEta5tRStpHjhyGRP1RvSWrc+o5WzjRw5TIi6o3ymFiZj+GZFQKgWiKfum2dRRd3HjnxmRN3RvSn7qtjUcXeRo58RkQ90b5WeLh5jeWZEta2dOyt3IkBxgIv3V/aWrbGnJW8kyA4gES7q/wBJhYeW/l3RUCoFov/Z",
	),
	interlacedPng: fromBase64(
		"iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAAH0QRhUAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAUElEQVQ4jWP4DwMM////v6CgAGVBxSACCNkLMD6KMkJCFzA1XiDHLJyKLoBNQzOTLEX4AQO1FV2gmsMvDLkgGDiDLiAFA/4gGbkGUQKoZhAAOdQAfVis2lwAAAAASUVORK5CYII=",
	),
	interlacedPalettePng: fromBase64(
		"iVBORw0KGgoAAAANSUhEUgAAABgAAAAQAQMAAAFB7R1AAAAABlBMVEXQICD////WFAPIAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAMElEQVQImWN4wLCA4QFDAsMchj8MfxjmgOn/HxgOg9F/GIJwUQT//wfjD/yoGCoOAMpzMUEEVpSGAAAAAElFTkSuQmCC",
	),
	/** One bit a pixel. */
	palettePng: fromBase64(
		"iVBORw0KGgoAAAANSUhEUgAAABgAAAAQAQMAAAA26i3WAAAABlBMVEXQICD////WFAPIAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAFUlEQVQImWP4//8/AzL+wI8fo6kHAPsEJ9m9ek2lAAAAAElFTkSuQmCC",
	),
	/** 16 bits, and gray for red. */
	grayPng: fromBase64(
		"iVBORw0KGgoAAAANSUhEUgAAABgAAAAQEAQAAAD2vatdAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAK0lEQVQ4jWP4T2PAMGoByUGU9Qg/JhWMWkAQjAbRIAwiagMGqpv4f7hZAAD2PM3MdbpBdwAAAABJRU5ErkJggg==",
	),
	gif: fromBase64(
		"R0lGODlhGAAQAIEAAExpcf///9AgIAAAACH5BAUAAAAALAAAAAAYABAAAAIdjI+py+0PYxO0UmmsxUFX7l1YKICh6aEax7bu2xYAOw==",
	),
	webp: fromBase64("UklGRi4AAABXRUJQVlA4TCIAAAAvF8ADAA/wkP9H/z/kf/7jAQTZNjWYv+UxjhDR/wCA9QIA"),
	avif: fromBase64(
		"AAAAHGZ0eXBhdmlmAAAAAG1pZjFhdmlmbWlhZgAAAXBtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAAAAAERAAAIAAQAAAAABlAABAAAAAAAAAF0AAgAAAAAB8QABAAAAAAAAABcAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABhdjAxAAAAABVpbmZlAgAAAAACAABhdjAxAAAAAA5waXRtAAAAAAABAAAAr2lwcnAAAACKaXBjbwAAAAxhdjFDgSACAAAAABRpc3BlAAAAAAAAABgAAAAQAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgQAcAAAAAA5waXhpAAAAAAEIAAAAOGF1eEMAAAAAdXJuOm1wZWc6bXBlZ0I6Y2ljcDpzeXN0ZW1zOmF1eGlsaWFyeTphbHBoYQAAAAAdaXBtYQAAAAAAAAACAAEDgQIDAAIEhAIFhgAAABppcmVmAAAAAAAAAA5hdXhsAAIAAQABAAAAfG1kYXQSAAoIOBDv7SAhoNIyTxxCYuTpppphY2AA127jqbqmd8wawh+zjQYEUFrBsrSnEwaiHCm6uBaoXP1Y1Rpp+uIt2ILZ3vOy5A4tIImYzxecXuQe1KtItZJCnLfx6N8SAAoFGBDv7CoyDBsAaaEAtY8NBhqbjA==",
	),
};

/** A recording by Chromium's `MediaRecorder`. The lengths of its segment and its cluster are unknown. */
export const CHROMIUM_RECORDING = fromBase64(
	"GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQRChYECGFOAZwH/////////FUmpZpkq17GDD0JATYCGQ2hyb21lV0GGQ2hyb21lFlSua7+uvdeBAXPFh79UBl9AhIqDgQKGhkFfT1BVU2Oik09wdXNIZWFkAQEAAIC7AAAAAADhjbWERzuAAJ+BAWJkgSAfQ7Z1Af/////////ngQCjjIEAAID7A//+//7//qOMgQA8gPsD//7//v/+o4yBAHiA+wP//v/+//6jjIEAtID7A//+//7//g==",
);

const bigEndian = (value: number, bytes: number): number[] =>
	Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) % 256);

const ascii = (text: string): number[] => [...text].map((character) => character.charCodeAt(0));

/** A PNG of the given chunks; the check sums are left at zero, decoders here do not ask. */
export function pngOf(...chunks: [name: string, content: ArrayLike<number>][]): Uint8Array<ArrayBuffer> {
	const bytes = [0x89, ...ascii("PNG\r\n\x1a\n")];
	for (const [name, content] of chunks)
		for (const part of [bigEndian(content.length, 4), ascii(name), Array.from(content), [0, 0, 0, 0]])
			for (const byte of part) bytes.push(byte);
	return Uint8Array.from(bytes);
}

/** `colourType`: 0 gray, 2 colour, 3 palette, 4 gray and alpha, 6 colour and alpha. */
export const pngHeader = (
	width: number,
	height: number,
	{ depth = 8, colourType = 2 } = {},
): [string, number[]] => [
	"IHDR",
	[...bigEndian(width, 4), ...bigEndian(height, 4), depth, colourType, 0, 0, 0],
];

export async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
	const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A FLAC file without a frame: 44.1 kHz, stereo, 16 bits, and as many samples as it says. */
export function flacHeader(samples: number): Uint8Array<ArrayBuffer> {
	const rateChannelsBits = (44_100n << 44n) | (1n << 41n) | (15n << 36n) | BigInt(samples);
	const info = new Uint8Array(34);
	const view = new DataView(info.buffer);
	view.setUint16(0, 4096);
	view.setUint16(2, 4096);
	view.setBigUint64(10, rateChannelsBits);
	return Uint8Array.from([...ascii("fLaC"), 0x80, ...bigEndian(34, 3), ...info]);
}
