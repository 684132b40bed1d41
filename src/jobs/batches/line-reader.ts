/** Reads lines of the input of a batch from the storage: those that were claimed together with one call, if they are near each other. */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { parseJson, readStream } from "../../http/body.ts";
import type { SizeLimits } from "../../pipeline/limits.ts";
import type { Blobs } from "../../storage/blobs/blobs.ts";
import type { ClaimedLine } from "./records.ts";

const MAX_SPAN_BYTES = 10_000_000;

export type LineBody = Record<string, unknown>;

export class LineReader {
	readonly #blobs: Blobs;
	readonly #key: string;
	readonly #limits: Pick<SizeLimits, "jsonDepth">;
	/** Of the lines that were loaded together. */
	#loaded: { offset: number; bytes: Uint8Array } | undefined;

	constructor(blobs: Blobs, key: string, limits: Pick<SizeLimits, "jsonDepth">) {
		this.#blobs = blobs;
		this.#key = key;
		this.#limits = limits;
	}

	async load(lines: readonly ClaimedLine[]): Promise<void> {
		const offset = Math.min(...lines.map((line) => line.offset));
		const end = Math.max(...lines.map((line) => line.offset + line.length));
		this.#loaded =
			end - offset > MAX_SPAN_BYTES ? undefined : { offset, bytes: await this.#read(offset, end - offset) };
	}

	/** The request of a line. The line is valid, or its batch was created with it. */
	async body({ offset, length }: ClaimedLine): Promise<LineBody> {
		const loaded = this.#loaded;
		const from = loaded ? offset - loaded.offset : -1;
		const bytes =
			loaded && from >= 0 && from + length <= loaded.bytes.length
				? loaded.bytes.subarray(from, from + length)
				: await this.#read(offset, length);
		const fields = parseJson(bytes, this.#limits);
		const body = isRecord(fields) ? fields.body : undefined;
		if (!isRecord(body)) throw new TypeError("A line has no request");
		return body;
	}

	async #read(offset: number, length: number): Promise<Uint8Array> {
		const stored = await this.#blobs.get(this.#key, { offset, length });
		if (!stored) throw new AiError("storageUnavailable", "the input of a batch was deleted");
		return readStream(stored.body, { limit: length });
	}
}
