import { expect, it } from "vitest";
import { decompress } from "../../src/http/decompress.ts";

const FORMATS = ["gzip", "deflate"] as const;

async function compressed(text: string, format: "gzip" | "deflate"): Promise<Uint8Array> {
	const stream = new Response(text).body?.pipeThrough(new CompressionStream(format));
	return new Response(stream).bytes();
}

it.each(FORMATS)("%s of as many bytes as the limit is decompressed", async (format) => {
	const bytes = decompress(await compressed("x".repeat(100), format), format, 100);
	expect(new TextDecoder().decode(bytes)).toBe("x".repeat(100));
});

it.each(FORMATS)("%s is decompressed only up to the limit: what follows is not looked at", async (format) => {
	const bytes = await compressed("x".repeat(300), format);
	bytes.fill(0xff, bytes.length - 3);
	expect(() => decompress(bytes, format, 100)).toThrow("3006: Request is too large: more than 100 bytes");
	expect(() => decompress(bytes, format, 300)).toThrow("5006: Error: the request body cannot be decoded");
});

it.each(FORMATS)("%s that ends early cannot be decoded", async (format) => {
	const bytes = await compressed("x".repeat(50), format);
	expect(() => decompress(bytes.subarray(0, -5), format, 100)).toThrow("the request body cannot be decoded");
});
