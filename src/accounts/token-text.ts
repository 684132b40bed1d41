/**
 * The text of a token, `glt_{account}_{secret}`: 32 random bytes behind the account they open, so that a route without
 * an account in its path can find it. The prefix is for those who search leaked text for secrets.
 *
 * Only the SHA-256 of the whole text leaves the Worker that made or was sent it. No salt and no slow hash: those are
 * for secrets that people think up.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 32;
/** 62 to this power is just above 256 to the power of `SECRET_BYTES`. */
const SECRET_LENGTH = 43;
/** Accounts may have underscores, the secret has none: the last one parts them. */
const TOKEN = new RegExp(`^glt_([\\w-]{1,64})_[0-9A-Za-z]{${SECRET_LENGTH}}$`);

export function newTokenText(
	account: string,
	secret: Uint8Array = crypto.getRandomValues(new Uint8Array(SECRET_BYTES)),
): string {
	return `glt_${account}_${base62(secret).padStart(SECRET_LENGTH, ALPHABET[0])}`;
}

/** The account that a token's text names; nothing for any other text. */
export const accountOfToken = (text: string): string | undefined => TOKEN.exec(text)?.[1];

/** SHA-256 of a text's UTF-8. Node's, because Web Crypto's is waited for, which takes longer than the hash itself. */
export const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();

export const hexadecimal = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function base62(bytes: Uint8Array): string {
	let value = BigInt(`0x${hexadecimal(bytes)}`);
	let text = "";
	for (; value > 0n; value /= 62n) text = ALPHABET[Number(value % 62n)] + text;
	return text;
}
