/**
 * The text of a token, `glt_{account}_{secret}`: the account and 32 random bytes. A route without an account in its path reads
 * the account from the token. The prefix lets secret scanners find leaked tokens.
 *
 * Only the SHA-256 of the complete text leaves the Worker that created or received it. The hash is fast and has no salt: a slow
 * hash protects passwords that people choose, not 256 random bits.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 32;
/** 62 to this power is just above 256 to the power of `SECRET_BYTES`. */
const SECRET_LENGTH = 43;
/** Matches `glt_`, an account id, and the secret. Account ids may contain underscores, the secret does not. */
const TOKEN = new RegExp(`^glt_([\\w-]{1,64})_[0-9A-Za-z]{${SECRET_LENGTH}}$`);

export function newTokenText(
	account: string,
	secret: Uint8Array = crypto.getRandomValues(new Uint8Array(SECRET_BYTES)),
): string {
	return `glt_${account}_${base62(secret).padStart(SECRET_LENGTH, ALPHABET[0])}`;
}

/** The account id in a token's text; nothing for other texts. */
export const accountOfToken = (text: string): string | undefined => TOKEN.exec(text)?.[1];

/** SHA-256 of the UTF-8 text. From Node, because Web Crypto is asynchronous, and the wait takes longer than the hash. */
export const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();

export const hexadecimal = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function base62(bytes: Uint8Array): string {
	let value = BigInt(`0x${hexadecimal(bytes)}`);
	let text = "";
	for (; value > 0n; value /= 62n) text = ALPHABET[Number(value % 62n)] + text;
	return text;
}
