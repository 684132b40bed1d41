/** The key of a cached answer. The cache's object belongs to one gateway of one account, so the key contains neither. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { BoundedMap } from "../../core/bounded-map.ts";
import { isRecord } from "../../core/json.ts";
import type { GatewayStep } from "../request.ts";
import type { GatewaySettings } from "../settings.ts";
import { canonicalJson } from "./canonical-json.ts";

/** Changes when the meaning of the key's parts changes. */
const VERSION = 1;

export type KeyedStep = Pick<
	GatewayStep,
	"provider" | "endpoint" | "model" | "body" | "format" | "providerKey" | "options"
>;
type KeyedSettings = Pick<GatewaySettings, "created_at" | "modified_at" | "cache_invalidate_on_update">;

/**
 * SHA-256 in hexadecimal. A key of the caller (`cf-aig-cache-key`) replaces the provider, the model, the inputs and the provider's key.
 * The format of the answer stays a part of the key, because a client cannot read another. `undefined`: the inputs have no canonical text.
 */
export function cacheKey(step: KeyedStep, settings: KeyedSettings): string | undefined {
	const { provider, endpoint, model, body, format, providerKey, options } = step;
	const { content, contentType } = body;
	const isBytes = "bytes" in content;
	// Answers of an earlier gateway with the same id, or of earlier settings, are never found.
	const gateway = [settings.created_at, settings.cache_invalidate_on_update && settings.modified_at];
	if (options.cacheKey !== undefined) {
		const streams = !isBytes && isRecord(content.json) && content.json.stream === true;
		return hashOf(JSON.stringify([VERSION, "custom", ...gateway, format, streams, options.cacheKey]));
	}
	const boundary = isBytes ? /^multipart\/.*;\s*boundary="?([^";]+)/i.exec(contentType)?.[1] : undefined;
	const parameters = canonicalJson(body.parameters ?? null);
	const parts = [
		...gateway,
		provider,
		endpoint,
		model ?? null,
		format,
		providerKey ?? null,
		boundary === undefined ? contentType : contentType.replace(boundary, ""),
		parameters,
	];
	const kind = isBytes ? "bytes" : "json";
	const input = isBytes ? content.bytes : canonicalJson(content.json);
	if (input === undefined || parameters === undefined) return undefined;
	// JSON contains no raw line break, so the parts end at the first one.
	const head = `${JSON.stringify([VERSION, kind, ...parts])}\n`;
	return typeof input === "string" ? hashOf(head + input) : hashOfBytes(head, input, boundary);
}

/** Clients choose another boundary for each form, so the parts count, and the boundary between them does not. */
function hashOfBytes(head: string, bytes: Uint8Array, boundary: string | undefined): string {
	const hash = createHash("sha256").update(head);
	if (boundary === undefined) return hash.update(bytes).digest("hex");
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const delimiter = `--${boundary}`;
	let from = 0;
	for (let at = buffer.indexOf(delimiter); at >= 0; at = buffer.indexOf(delimiter, from)) {
		// With its length, so that no part can contain the end of another.
		hash.update(`${at - from}\n`).update(buffer.subarray(from, at));
		from = at + delimiter.length;
	}
	return hash.update(buffer.subarray(from)).digest("hex");
}

/** The last hashes of short texts. A request that the cache can answer is a repetition, and a hash takes longer than its lookup here. */
const MAX_HASHES = 1_000;
const hashes = new BoundedMap<string, string>(MAX_HASHES);
/** Characters. */
const MAX_SHORT = 4_096;

const computeHash = (text: string): string => createHash("sha256").update(text).digest("hex");

const hashOf = (text: string): string =>
	text.length > MAX_SHORT ? computeHash(text) : hashes.getOrSet(text, () => computeHash(text));
