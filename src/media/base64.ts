/// <reference lib="esnext.typedarrays" />
/** Base64, and the URLs that hold it. Nothing is patched up: what is not base64 all through is none. */

/** `undefined` for what does not decode. White space and missing padding are allowed, `-` and `_` are not. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
	try {
		return Uint8Array.fromBase64(text);
	} catch {
		return undefined;
	}
}

export const encodeBase64 = (bytes: Uint8Array): string => bytes.toBase64();

export const dataUrl = (bytes: Uint8Array, contentType: string): string =>
	`data:${contentType};base64,${encodeBase64(bytes)}`;

/** The parts of `data:image/png;base64,…`, nothing decoded; `undefined` for any other text. */
export function splitDataUrl(text: string): { contentType: string; base64: string } | undefined {
	const head = /^data:([^,]*?);base64,/i.exec(text);
	return head ? { contentType: head[1] ?? "", base64: text.slice(head[0].length) } : undefined;
}
