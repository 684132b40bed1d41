/**
 * Seals of reasoning. Hosted models sign or encrypt their reasoning, and only the same model of the same provider can read it
 * again: `encrypted_content` (OpenAI, xAI), `signature` and `redacted_thinking` (Anthropic), `thoughtSignature` (Gemini). The
 * gateway is stateless, so callers carry it from turn to turn. They receive it in a seal, which only this gateway can open:
 * for the same account, and for a call of the same backend and model. Anything else in its place is dropped and named in
 * `x-ganglion-dropped`, and never reaches an engine.
 *
 * A seal is standard base64, because some clients of Gemini decode the field to bytes: three bytes that mark a seal, the
 * length of the content in three bytes, a nonce, the content encrypted with AES-256-GCM, and the tag. The account is
 * authenticated data. The number of bytes is a multiple of three, so seals that are joined without a separator are base64, too.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { parseRecord } from "../core/json.ts";
import { decodeBase64, encodeBase64 } from "../media/base64.ts";
import { decodeUtf8 } from "../media/utf8.ts";

/** What a backend seals and opens for one call. */
export interface Seals {
	/** Returns the seal of a JSON value. `undefined` if there is no key: then the reasoning is not carried. */
	seal(value: unknown): string | undefined;
	/** Returns the values of the joined seals in `text`. Others are reported as dropped. */
	open(text: string): unknown[];
}

/** The name in `x-ganglion-dropped` of a seal that is not opened. */
export const DROPPED_SEAL = "reasoning.signature";

const CIPHER = "aes-256-gcm";
const MARK = Uint8Array.from([0x82, 0x78, 0x25]);
const LENGTH_BYTES = 3;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MARK.length + LENGTH_BYTES;
const OVERHEAD_BYTES = HEAD_BYTES + NONCE_BYTES + TAG_BYTES;
/** The length field has three bytes. */
const MAX_CONTENT_BYTES = 2 ** (8 * LENGTH_BYTES) - 1;

interface SealServices {
	/** 32 bytes. Absent: the key is not available. */
	key: Uint8Array | undefined;
	account: string;
	target: { backend: string; model: string };
	/** Receives {@link DROPPED_SEAL}. */
	dropped: string[];
}

export class AccountSeals implements Seals {
	readonly #services: SealServices;

	constructor(services: SealServices) {
		this.#services = services;
	}

	seal(value: unknown): string | undefined {
		const { key, account, target } = this.#services;
		if (!key) return undefined;
		const { backend, model } = target;
		const content = padded(new TextEncoder().encode(JSON.stringify({ backend, model, value })));
		if (content.length > MAX_CONTENT_BYTES) return undefined;
		const bytes = new Uint8Array(OVERHEAD_BYTES + content.length);
		bytes.set(MARK);
		writeLength(bytes, content.length);
		const nonce = crypto.getRandomValues(bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES));
		const cipher = createCipheriv(CIPHER, key, nonce);
		cipher.setAAD(new TextEncoder().encode(account));
		bytes.set(cipher.update(content), HEAD_BYTES + NONCE_BYTES);
		cipher.final();
		bytes.set(cipher.getAuthTag(), bytes.length - TAG_BYTES);
		return encodeBase64(bytes);
	}

	open(text: string): unknown[] {
		const { dropped } = this.#services;
		const seals = splitSeals(text);
		if (seals.length === 0) dropped.push(DROPPED_SEAL);
		return seals.flatMap((seal) => {
			const opened = this.#open(seal);
			if (opened === undefined) dropped.push(DROPPED_SEAL);
			return opened === undefined ? [] : [opened];
		});
	}

	/** Opens the seals of this target alone. `others`: the joined other seals. Nothing is reported as dropped. */
	take(text: string): { values: unknown[]; others: string } {
		const values: unknown[] = [];
		const seals = splitSeals(text);
		const others = seals.filter((seal) => {
			const opened = this.#open(seal);
			if (opened !== undefined) values.push(opened);
			return opened === undefined;
		});
		return values.length === 0
			? { values, others: text }
			: { values, others: others.map(encodeBase64).join("") };
	}

	#open(seal: Uint8Array): unknown {
		const { key, account, target } = this.#services;
		if (!key) return undefined;
		const nonce = seal.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
		const decipher = createDecipheriv(CIPHER, key, nonce);
		decipher.setAAD(new TextEncoder().encode(account));
		decipher.setAuthTag(seal.subarray(seal.length - TAG_BYTES));
		try {
			const content = decipher.update(seal.subarray(HEAD_BYTES + NONCE_BYTES, seal.length - TAG_BYTES));
			decipher.final();
			const { backend, model, value } = parseRecord(decodeUtf8(content)) ?? {};
			return backend === target.backend && model === target.model ? value : undefined;
		} catch {
			// It was altered, or another account or deployment made it.
			return undefined;
		}
	}
}

/** White space after the JSON, so that the bytes of the seal are a multiple of three. */
function padded(content: Uint8Array): Uint8Array {
	const padding = (3 - ((OVERHEAD_BYTES + content.length) % 3)) % 3;
	if (padding === 0) return content;
	const filled = new Uint8Array(content.length + padding).fill(0x20);
	filled.set(content);
	return filled;
}

function writeLength(bytes: Uint8Array, length: number): void {
	for (let index = 0; index < LENGTH_BYTES; index++)
		bytes[MARK.length + index] = (length >> (8 * (LENGTH_BYTES - 1 - index))) & 0xff;
}

const readLength = (bytes: Uint8Array, at: number): number =>
	bytes.subarray(at, at + LENGTH_BYTES).reduce((length, byte) => length * 256 + byte, 0);

/** The bytes of each seal. Empty if the text is not a sequence of complete seals. */
function splitSeals(text: string): Uint8Array[] {
	const bytes = decodeBase64(text) ?? new Uint8Array();
	const seals: Uint8Array[] = [];
	for (let start = 0; start < bytes.length; ) {
		const isSeal = MARK.every((byte, index) => bytes[start + index] === byte);
		const end = start + OVERHEAD_BYTES + readLength(bytes, start + MARK.length);
		if (!isSeal || end > bytes.length) return [];
		seals.push(bytes.subarray(start, end));
		start = end;
	}
	return seals;
}
