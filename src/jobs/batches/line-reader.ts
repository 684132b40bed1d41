/** Reads lines of the input of a batch from the storage: those that were claimed together with one call, if they are near each other. */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { parseJson, readStream } from "../../http/body.ts";
import type { SizeLimits } from "../../pipeline/limits.ts";
import type { Blobs } from "../../storage/blobs/blobs.ts";
import type { ClaimedLine } from "./records.ts";

/** Of lines that were claimed together. A drain has lines of about two claims. */
const MAX_SPAN_BYTES = 5_000_000;

export type LineBody = Record<string, unknown>;

/** Lines that were loaded together. `unread`: how many of them are still needed. */
interface LoadedLines {
	offset: number;
	bytes: Uint8Array;
	unread: number;
}

export class LineReader {
	readonly #blobs: Blobs;
	readonly #key: string;
	readonly #limits: Pick<SizeLimits, "jsonDepth">;
	#loaded: LoadedLines[] = [];

	constructor(blobs: Blobs, key: string, limits: Pick<SizeLimits, "jsonDepth">) {
		this.#blobs = blobs;
		this.#key = key;
		this.#limits = limits;
	}

	async load(lines: readonly ClaimedLine[]): Promise<void> {
		const offset = Math.min(...lines.map((line) => line.offset));
		const end = Math.max(...lines.map((line) => line.offset + line.length));
		if (end - offset > MAX_SPAN_BYTES) return;
		this.#loaded.push({ offset, bytes: await this.#read(offset, end - offset), unread: lines.length });
	}

	/** The request of a line. The line is valid, or its batch was created with it. */
	async body({ offset, length }: ClaimedLine): Promise<LineBody> {
		const bytes = this.#take(offset, length) ?? (await this.#read(offset, length));
		const fields = parseJson(bytes, this.#limits);
		const body = isRecord(fields) ? fields.body : undefined;
		if (!isRecord(body)) throw new TypeError("A line has no request");
		return body;
	}

	#take(offset: number, length: number): Uint8Array | undefined {
		const loaded = this.#loaded.find(
			({ offset: from, bytes }) => from <= offset && offset + length <= from + bytes.length,
		);
		if (!loaded) return undefined;
		if (--loaded.unread === 0) this.#loaded = this.#loaded.filter((each) => each !== loaded);
		return loaded.bytes.subarray(offset - loaded.offset, offset - loaded.offset + length);
	}

	async #read(offset: number, length: number): Promise<Uint8Array> {
		const stored = await this.#blobs.get(this.#key, { offset, length });
		if (!stored) throw new AiError("storageUnavailable", "the input of a batch was deleted");
		return readStream(stored.body, { limit: length });
	}
}
