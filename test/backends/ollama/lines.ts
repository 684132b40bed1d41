/** A stream of JSON lines, in pieces that end inside of them. */
import { inPieces } from "../upstream.ts";

const PIECE_BYTES = 61;

export function lines(text: string): Response {
	const bytes = new TextEncoder().encode(text);
	const cuts = Array.from({ length: Math.floor(bytes.length / PIECE_BYTES) }, (_, at) => at * PIECE_BYTES);
	return new Response(inPieces(bytes, cuts), { headers: { "content-type": "application/x-ndjson" } });
}
