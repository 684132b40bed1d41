/** A picture small enough to look at every pixel of it. */

/** Pixels. Pictures no larger are kept as they are. */
const MAX_SIDE = 512;
/** Points a side that are averaged into one pixel: enough against noise, and a bound on the work. */
const MAX_TAPS = 3;

export interface Thumbnail {
	width: number;
	height: number;
	/** Red, green, blue, row by row. */
	rgb: Uint8Array;
}

/** Colour of a pixel, as 0xRRGGBB. */
export type PixelReader = (x: number, y: number) => number;

export function reduce(width: number, height: number, read: PixelReader): Thumbnail {
	const shrink = Math.max(1, Math.max(width, height) / MAX_SIDE);
	const toWidth = Math.max(1, Math.round(width / shrink));
	const toHeight = Math.max(1, Math.round(height / shrink));
	const taps = Math.min(MAX_TAPS, Math.ceil(shrink));
	const rgb = new Uint8Array(toWidth * toHeight * 3);
	for (let y = 0; y < toHeight; y++)
		for (let x = 0; x < toWidth; x++) {
			let red = 0;
			let green = 0;
			let blue = 0;
			for (let tapY = 0; tapY < taps; tapY++)
				for (let tapX = 0; tapX < taps; tapX++) {
					const fromX = Math.floor(((x + (tapX + 0.5) / taps) * width) / toWidth);
					const fromY = Math.floor(((y + (tapY + 0.5) / taps) * height) / toHeight);
					const colour = read(Math.min(fromX, width - 1), Math.min(fromY, height - 1));
					red += colour >> 16;
					green += (colour >> 8) & 0xff;
					blue += colour & 0xff;
				}
			const offset = (y * toWidth + x) * 3;
			rgb[offset] = Math.round(red / taps ** 2);
			rgb[offset + 1] = Math.round(green / taps ** 2);
			rgb[offset + 2] = Math.round(blue / taps ** 2);
		}
	return { width: toWidth, height: toHeight, rgb };
}
