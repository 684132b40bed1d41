import { encode } from "fast-png";

const SIDE = 32;

/** A PNG that is red all over. */
export const RED_SQUARE = encode({
	width: SIDE,
	height: SIDE,
	channels: 3,
	data: Uint8Array.from({ length: SIDE * SIDE * 3 }, (_, index) => (index % 3 === 0 ? 220 : 20)),
});
