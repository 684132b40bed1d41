/**
 * Reads a `multipart/form-data` body part by part (RFC 7578), without holding a part in memory. The parts may be in any order. Clients
 * that send a stream state no length.
 */
import { Buffer } from "node:buffer";
import { AiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import { PulledStream, type Source } from "../../streams/pulled-stream.ts";

/** RFC 2046, section 5.1.1. */
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i;
const MAX_HEADER_BYTES = 16 * 1024;
/** Before the first boundary. */
const MAX_PREAMBLE_BYTES = 4 * 1024;
const LINE_END = "\r\n";

/**
 * `body`: read to its end, or cancelled, before the next part is read. Cancelling it ends the form. Each piece is the only
 * user of its buffer.
 */
export interface FormBodyPart {
	name: string;
	/** Absent: the part is no file. Without folders. */
	filename?: string;
	/** The same with its folders, as sent. */
	path?: string;
	/** As sent. */
	contentType?: string;
	body: ReadableStream<Uint8Array>;
}

/** Throws 1001 if the body is no complete form. A piece of the body may be replaced by the next one. */
export async function* formParts(
	body: ReadableStream<Uint8Array> | null,
	contentType: string,
): AsyncGenerator<FormBodyPart> {
	const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
	const boundary = quoted ?? plain;
	if (!/^multipart\/form-data/i.test(contentType) || boundary === undefined)
		throw invalidForm("expected multipart/form-data with a boundary, found another content type");
	if (!body) throw endsEarly();
	const reader = new FormReader(PulledStream.sourceOf(body), boundary);
	await reader.skipPreamble();
	while (await reader.startPart()) {
		const part = headerOf(await reader.header());
		let isRead = false;
		const source: Source<Uint8Array> = {
			async pull() {
				const piece = await reader.piece();
				isRead = piece === undefined;
				return piece;
			},
			cancel: (reason) => reader.cancel(reason),
		};
		yield { ...part, body: new PulledStream(source) };
		while (!isRead) await source.pull();
	}
}

class FormReader {
	readonly #source: Source<Uint8Array>;
	readonly #delimiter: Buffer;
	/** Bytes that were read and belong to no part yet. It begins with the line end before the first boundary. */
	#rest: Buffer = Buffer.from(LINE_END);

	constructor(source: Source<Uint8Array>, boundary: string) {
		this.#source = source;
		this.#delimiter = Buffer.from(`${LINE_END}--${boundary}`);
	}

	async skipPreamble(): Promise<void> {
		await this.#until(this.#delimiter, MAX_PREAMBLE_BYTES);
	}

	/** After a boundary. Returns whether a part follows. */
	async startPart(): Promise<boolean> {
		while (this.#rest.length < 2) await this.#more();
		return this.#rest.toString("latin1", 0, 2) !== "--";
	}

	/** The header lines. The line end of the boundary is before them. */
	async header(): Promise<string> {
		return (await this.#until(Buffer.from(LINE_END + LINE_END), MAX_HEADER_BYTES)).toString("utf8");
	}

	/** The next bytes of the part. `undefined`: its end. */
	async piece(): Promise<Uint8Array | undefined> {
		for (;;) {
			const end = this.#rest.indexOf(this.#delimiter);
			if (end === 0) {
				this.#rest = this.#rest.subarray(this.#delimiter.length);
				return undefined;
			}
			// The last bytes may be the beginning of a boundary.
			const length = end > 0 ? end : this.#rest.length - this.#delimiter.length + 1;
			if (length > 0) {
				const piece = this.#rest.subarray(0, length);
				this.#rest = bufferOf(new Uint8Array(this.#rest.subarray(length)));
				return piece;
			}
			await this.#more();
		}
	}

	cancel(reason: unknown): Promise<void> {
		return this.#source.cancel(reason);
	}

	/** The bytes before the text, which are dropped with it. */
	async #until(text: Buffer, maxBytes: number): Promise<Buffer> {
		for (;;) {
			const end = this.#rest.indexOf(text);
			if (end >= 0) {
				const before = this.#rest.subarray(0, end);
				this.#rest = this.#rest.subarray(end + text.length);
				return before;
			}
			if (this.#rest.length > maxBytes) throw invalidForm("expected a valid form, found other bytes");
			await this.#more();
		}
	}

	async #more(): Promise<void> {
		const piece = await this.#source.pull();
		if (!piece) throw endsEarly();
		this.#rest = bufferOf(concat([this.#rest, piece]));
	}
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
	Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

/** These routes run no model. */
const invalidForm = (problem: string): AiError => new AiError("invalidRequest", `body: ${problem}`);

const endsEarly = (): AiError => invalidForm("expected the end of the form, found the end of the body");

function headerOf(header: string): Omit<FormBodyPart, "body"> {
	const lines = new Map(
		header.split(LINE_END).map((line) => {
			const colon = line.indexOf(":");
			return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
		}),
	);
	const disposition = lines.get("content-disposition") ?? "";
	const name = parameter(disposition, "name");
	if (name === undefined)
		throw invalidForm("expected a name of each part of the form, found a part without one");
	const filename = extended(disposition) ?? parameter(disposition, "filename");
	const contentType = lines.get("content-type");
	return {
		name,
		...(filename !== undefined && { filename: filename.split(/[/\\]/).at(-1) ?? "", path: filename }),
		...(contentType && { contentType }),
	};
}

/** Browsers write quotation marks and line ends as `%22`, `%0D`, `%0A`; other clients escape with a backslash. */
const parameter = (disposition: string, name: string): string | undefined =>
	new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i")
		.exec(disposition)
		?.slice(1)
		.find((value) => value !== undefined)
		?.replaceAll(/\\(["\\])/g, "$1")
		.replaceAll(/%(22|0D|0A)/gi, (code) => decodeURIComponent(code));

/** RFC 5987. */
function extended(disposition: string): string | undefined {
	const [, value] = /;\s*filename\*=UTF-8''([^\s;]+)/i.exec(disposition) ?? [];
	try {
		return value && decodeURIComponent(value);
	} catch {
		return undefined;
	}
}
