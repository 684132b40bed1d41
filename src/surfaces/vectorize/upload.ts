/**
 * Reads the vectors of an insert or upsert: lines of JSON (`application/x-ndjson`), the same in the field `vectors` of a form, or
 * `{"vectors": […]}`. Lines are read while they arrive, and a form is read as lines too: no line of JSON begins like its boundary.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { type BodyServices, readJson } from "../../http/body.ts";
import { encodingOf } from "../../http/decompress.ts";
import { bodyUnreadable, vectorsUnreadable } from "../../retrieval/vectors/failures.ts";
import { MAX_UPLOAD_BYTES } from "../../retrieval/vectors/limits.ts";
import { type ReaderOptions, VectorReader } from "../../retrieval/vectors/read-vectors.ts";
import type { VectorBatch } from "../../retrieval/vectors/records.ts";

/** A vector with 1,536 dimensions and 10 KiB of metadata has about 50 KB. */
const MAX_LINE_CHARACTERS = 1_000_000;
const NAME = /^content-disposition:.*;\s*name="?vectors"?\s*(?:;|$)/i;

type Upload = Omit<ReaderOptions, "hold"> & { account: string };

/** `use`: stores the vectors. They count as buffered until it ends or the caller has left. */
export async function withVectors<Result>(
	request: Request,
	{ account, ...options }: Upload,
	use: (batches: VectorBatch[]) => Promise<Result>,
	services: BodyServices,
): Promise<Result> {
	const hold = new BufferHold(account).releaseOn(request.signal);
	try {
		return await use(await readVectors(request, { ...options, hold }, services));
	} finally {
		hold.release();
	}
}

async function readVectors(
	request: Request,
	options: ReaderOptions,
	services: BodyServices,
): Promise<VectorBatch[]> {
	const type = request.headers.get("content-type")?.trim() ?? "";
	const reader = new VectorReader(options);
	if (/^application\/json\b/i.test(type)) {
		const body = await readVectorJson(request, services);
		if (!isRecord(body) || !Array.isArray(body.vectors))
			throw vectorsUnreadable(options.operation, "json format");
		for (const vector of body.vectors) reader.addValue(vector);
		return reader.end();
	}
	if (encodingOf(request) !== undefined) throw bodyUnreadable("a compressed upload is not supported");
	const lines = new LineReader(MAX_UPLOAD_BYTES, () => vectorsUnreadable(options.operation, "ndjson format"));
	const boundary = /^multipart\/form-data\b.*;\s*boundary="?([^\s";]+)/i.exec(type)?.[1];
	const form = boundary === undefined ? undefined : new FormLines(boundary);
	await lines.read(request, services, (line) => {
		if (!form || form.isOfVectors(line)) reader.addLine(line);
	});
	return reader.end();
}

/** As `readJson`, with the code of these routes. */
export async function readVectorJson(request: Request, services: BodyServices): Promise<unknown> {
	try {
		return await readJson(request, services);
	} catch (error) {
		if (error instanceof AiError && (error.key === "badInput" || error.key === "incompleteRequest"))
			throw bodyUnreadable(error.description.replace(/^Error: /, ""));
		throw error;
	}
}

/** The lines of a form that are the content of its field `vectors`. */
class FormLines {
	readonly #boundary: string;
	#part: "head" | "vectors" | "other" = "other";
	#isNamed = false;

	constructor(boundary: string) {
		this.#boundary = `--${boundary}`;
	}

	isOfVectors(line: string): boolean {
		if (line.startsWith(this.#boundary)) {
			this.#part = "head";
			this.#isNamed = false;
			return false;
		}
		if (this.#part !== "head") return this.#part === "vectors";
		if (line.trim() === "") this.#part = this.#isNamed ? "vectors" : "other";
		else if (NAME.test(line.trim())) this.#isNamed = true;
		return false;
	}
}

class LineReader {
	readonly #maxBytes: number;
	readonly #unreadable: () => AiError;
	/** The line that has not ended. */
	#rest = "";

	constructor(maxBytes: number, unreadable: () => AiError) {
		this.#maxBytes = maxBytes;
		this.#unreadable = unreadable;
	}

	/** Throws 3006 for too many bytes, 3007 if they do not arrive in time, and what `onLine` throws. */
	async read(
		{ body, signal }: Request,
		{ limits, startTimer }: BodyServices,
		onLine: (line: string) => void,
	): Promise<void> {
		if (!body) throw bodyUnreadable("the body is missing");
		const reader = body.getReader();
		const late = new AiError(
			"timeout",
			`Request timeout: the request body did not arrive within ${limits.bodyMs} ms`,
		);
		let isLate = false;
		const onTime = (): void => {
			isLate = true;
			void reader.cancel(late).catch(() => {});
		};
		const timer = startTimer(limits.bodyMs, onTime, signal);
		const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
		let bytes = 0;
		let failure: unknown;
		try {
			for (;;) {
				// It fails only if the caller leaves.
				const { done, value } = await reader.read().catch((cause: unknown) => {
					throw new AiError("aborted", undefined, { cause });
				});
				if (isLate) throw failure ?? late;
				bytes += value?.length ?? 0;
				if (bytes > this.#maxBytes)
					throw (
						failure ??
						new AiError("requestTooLarge", `Request is too large: more than ${this.#maxBytes} bytes`)
					);
				try {
					if (!failure) this.#push(this.#decode(decoder, value), done, onLine);
				} catch (error) {
					// Many clients report a broken connection if the response arrives before they have sent the body: the rest is read and dropped.
					failure = error;
				}
				if (done) break;
			}
			if (failure) throw failure;
		} catch (error) {
			void reader.cancel().catch(() => {});
			throw error;
		} finally {
			timer.cancel();
		}
	}

	#decode(decoder: TextDecoder, value: Uint8Array | undefined): string {
		try {
			return value ? decoder.decode(value, { stream: true }) : decoder.decode();
		} catch {
			throw this.#unreadable();
		}
	}

	/** Only the new text is searched: a line may come in many pieces. Its bound does not depend on them. */
	#push(text: string, isLast: boolean, onLine: (line: string) => void): void {
		const parts = text.split("\n");
		for (const [i, part] of parts.entries()) {
			this.#rest += part;
			if (this.#rest.length > MAX_LINE_CHARACTERS) throw this.#unreadable();
			if (i === parts.length - 1 && !isLast) return;
			onLine(this.#rest);
			this.#rest = "";
		}
	}
}
