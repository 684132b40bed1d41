/** Deterministic ids for models without one: the same name gives the same id on every start and every machine. */
import { createHash } from "node:crypto";

const NAMESPACE = "b31c8aa4-1f0e-4d0b-9c3e-6a2f5d7e9c41";

/** A version 5 UUID (RFC 9562). Uses `node:crypto`, because `crypto.subtle` is asynchronous. */
export function nameUuid(name: string, namespace: string = NAMESPACE): string {
	const digest = createHash("sha1")
		.update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
		.update(name)
		.digest();
	digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
	digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
	return digest.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
