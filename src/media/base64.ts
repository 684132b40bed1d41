/// <reference lib="esnext.typedarrays" />
/** Base64 (RFC 4648, section 4) and `data:` URLs (RFC 2397). Invalid input is never repaired: it decodes to `undefined`. */

/** `undefined` for invalid base64. White space and missing padding are allowed; the URL alphabet (`-`, `_`) is not. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
	try {
		// The command checks the configuration in Node, which has the first only from version 25 on.
		return Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
	} catch {
		return undefined;
	}
}

export const encodeBase64 = (bytes: Uint8Array): string => bytes.toBase64();

export const dataUrl = (bytes: Uint8Array, contentType: string): string =>
	`data:${contentType};base64,${encodeBase64(bytes)}`;

/** Splits `data:image/png;base64,…` without decoding it; returns `undefined` for any other text. */
export function splitDataUrl(text: string): { contentType: string; base64: string } | undefined {
	const head = /^data:([^,]*?);base64,/i.exec(text);
	return head ? { contentType: head[1] ?? "", base64: text.slice(head[0].length) } : undefined;
}
