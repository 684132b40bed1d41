/**
 * Finds where the messages of an HTTP/1.1 connection begin and end (RFC 9112), without changing their bytes. It accepts only forms
 * that have one meaning, so that the runtime finds the same ends.
 */
import { KEY_HEADERS, PROTOCOLS } from "./credential-headers.ts";

/** Bytes of the start line and the headers. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Characters of a line with the size of a chunk, or of a trailer. */
const MAX_LINE = 1_024;
const MAX_TRAILERS = 64;
/** Bytes of all extensions of chunks and all trailers of a message. The runtime ends the connection at 16 KB. */
const MAX_EXTRA_BYTES = 8 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const HEAD_END = Buffer.from("\r\n\r\n");

/** The message is malformed, or its head is too large. */
export class FramingError extends Error {
	readonly status: 400 | 431;

	constructor(message: string, status: 400 | 431 = 400) {
		super(message);
		this.status = status;
	}
}

export interface MessageHead {
	/** Of a request: the method, the path with its query, the version. Of an answer: the version, the status, the reason. */
	startLine: readonly string[];
	/** By lower-case name. Only those that are in {@link READ}. */
	headers: ReadonlyMap<string, string>;
}

/** A header that occurs twice makes the end of a message, or its address, ambiguous. */
const SINGLE = new Set(["content-length", "transfer-encoding", "host"]);
const READ = [...SINGLE, ...KEY_HEADERS, PROTOCOLS, "connection", "content-encoding", "expect", "upgrade"];
/** A line that ends otherwise has another meaning for servers that accept a CR or a LF alone as its end. */
const FIELD = "[\\w!#$%&'*+.^`|~-]+:[^\\r\\n\\0]*";
const WELL_FORMED = new RegExp(`^[^\\r\\n\\0]*(?:\\r\\n${FIELD})*\\r\\n\\r\\n$`);
const TRAILER = new RegExp(`^(?:${FIELD})?\\r$`);
const READ_HEADER = new RegExp(`\\r\\n(${READ.join("|")}):[ \\t]*([^\\r\\n]*)`, "gi");
/** A path, also with a query or a fragment, or an address with one, in the characters that the runtime accepts. */
const TARGET = /^(?:https?:\/\/[\w.-]+(?::\d{1,5})?)?\/[!"$-;=@-_a-~]*(?:\?[!$-;=?-~]*)?(?:#[!-~]*)?$/;

/** How the end of a message is found. `close`: it ends with the connection. `upgrade`: the connection has another protocol now. */
type BodyKind = "none" | "length" | "chunked" | "close" | "upgrade";

/** Among the options of the header `connection`. */
const CLOSE_OPTION = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

type Step = "size" | "data" | "data-end" | "trailer";

export class MessageFraming {
	/** Of the current message, when it is complete. */
	head: MessageHead | undefined;
	/** Of the current message, with the sizes of its chunks. */
	bodyBytes = 0;
	hasEnded = false;
	kind: BodyKind = "none";
	readonly #bodyKind: (head: MessageHead) => BodyKind;
	#headParts: Buffer[] = [];
	#headBytes = 0;
	/** Bytes of the end of the head that were found. */
	#matched = 0;
	/** Of the body, or of the current chunk. */
	#remaining = 0;
	#step: Step = "size";
	#line = "";
	#trailers = 0;
	#extraBytes = 0;

	constructor(bodyKind: (head: MessageHead) => BodyKind) {
		this.#bodyKind = bodyKind;
	}

	/** Reads up to the end of the message. Returns the number of bytes that belong to it. Throws a {@link FramingError}. */
	push(bytes: Buffer): number {
		let at = this.head ? 0 : this.#readHead(bytes);
		// After an upgrade, bytes of another protocol follow.
		if (!this.head || this.hasEnded || this.kind === "upgrade") return at;
		const bodyFrom = at;
		if (this.kind === "length") {
			const taken = Math.min(this.#remaining, bytes.length - at);
			this.#remaining -= taken;
			at += taken;
			this.hasEnded = this.#remaining === 0;
		} else at = this.kind === "chunked" ? this.#readChunks(bytes, at) : bytes.length;
		this.bodyBytes += at - bodyFrom;
		return at;
	}

	/** The next message of the connection follows. */
	next(): void {
		this.head = undefined;
		this.bodyBytes = 0;
		this.hasEnded = false;
		this.kind = "none";
		this.#headParts = [];
		this.#headBytes = 0;
		this.#matched = 0;
		this.#step = "size";
		this.#line = "";
		this.#trailers = 0;
		this.#extraBytes = 0;
	}

	#readHead(bytes: Buffer): number {
		const at = this.#endOfHead(bytes);
		this.#headBytes += at;
		if (this.#headBytes > MAX_HEAD_BYTES) throw new FramingError("the headers are too large", 431);
		const part = bytes.subarray(0, at);
		if (this.#matched < HEAD_END.length) {
			this.#headParts.push(part);
			return at;
		}
		const isWhole = this.#headParts.length === 0;
		this.head = headOf((isWhole ? part : Buffer.concat([...this.#headParts, part])).toString("latin1"));
		if (!isWhole) this.#headParts = [];
		this.kind = this.#bodyKind(this.head);
		this.#remaining = this.kind === "length" ? lengthOf(this.head) : 0;
		this.hasEnded = this.kind === "none" || (this.kind === "length" && this.#remaining === 0);
		return at;
	}

	/** The number of bytes that belong to the head. */
	#endOfHead(bytes: Buffer): number {
		let at = 0;
		if (this.#matched === 0) {
			const found = bytes.indexOf(HEAD_END);
			// Without it only the last bytes can begin it.
			at = found >= 0 ? found : Math.max(0, bytes.length - HEAD_END.length + 1);
		}
		while (at < bytes.length && this.#matched < HEAD_END.length) {
			const byte = bytes[at++];
			this.#matched = byte === HEAD_END[this.#matched] ? this.#matched + 1 : byte === CR ? 1 : 0;
		}
		return at;
	}

	#readChunks(bytes: Buffer, from: number): number {
		let at = from;
		while (at < bytes.length && !this.hasEnded) {
			if (this.#step === "data") {
				const taken = Math.min(this.#remaining, bytes.length - at);
				this.#remaining -= taken;
				at += taken;
				if (this.#remaining === 0) this.#step = "data-end";
			} else {
				const end = bytes.indexOf(LF, at);
				this.#line += bytes.toString("latin1", at, end < 0 ? bytes.length : end);
				if (this.#line.length > MAX_LINE) throw new FramingError("a line of the body is too long");
				if (end < 0) return bytes.length;
				at = end + 1;
				this.#endLine();
			}
		}
		return at;
	}

	#countExtra({ length }: string): void {
		this.#extraBytes += length;
		if (this.#extraBytes > MAX_EXTRA_BYTES)
			throw new FramingError("the extensions of chunks and the trailers are too long");
	}

	#endLine(): void {
		const line = this.#line;
		this.#line = "";
		if (!line.endsWith("\r")) throw new FramingError("a line of the body has no CRLF");
		if (this.#step === "data-end") {
			if (line !== "\r") throw new FramingError("a chunk is longer than its size");
			this.#step = "size";
		} else if (this.#step === "trailer") {
			if (!TRAILER.test(line)) throw new FramingError("a trailer is malformed");
			this.hasEnded = line === "\r";
			if (++this.#trailers > MAX_TRAILERS) throw new FramingError("too many trailers");
			this.#countExtra(line);
		} else {
			const [, size, extension = ""] = /^([\da-f]{1,12})([ \t]*;[^\r]*)?\r$/i.exec(line) ?? [];
			if (size === undefined) throw new FramingError("a chunk has no valid size");
			this.#countExtra(extension);
			this.#remaining = Number.parseInt(size, 16);
			this.#step = this.#remaining === 0 ? "trailer" : "data";
		}
	}
}

function headOf(text: string): MessageHead {
	if (!WELL_FORMED.test(text)) throw new FramingError("a header is malformed");
	const headers = new Map<string, string>();
	READ_HEADER.lastIndex = 0;
	for (let found = READ_HEADER.exec(text); found; found = READ_HEADER.exec(text)) {
		const [, written = "", value = ""] = found;
		const name = written.toLowerCase();
		const before = headers.get(name);
		if (before !== undefined && SINGLE.has(name)) throw new FramingError(`the header ${name} occurs twice`);
		const last = withoutSpaceAtEnd(value);
		// As the Worker reads it.
		headers.set(name, before ? `${before}, ${last}` : last);
	}
	return { startLine: text.slice(0, text.indexOf("\r")).split(" "), headers };
}

/** Other white space is a part of the value. Not by an expression, whose time would be quadratic. */
function withoutSpaceAtEnd(value: string): string {
	let end = value.length;
	while (end > 0 && (value[end - 1] === " " || value[end - 1] === "\t")) end--;
	return value.slice(0, end);
}

function lengthOf({ headers }: MessageHead): number {
	const text = headers.get("content-length") ?? "";
	if (!/^\d{1,15}$/.test(text)) throw new FramingError("content-length is not valid");
	return Number(text);
}

/** A message has either of the two headers. `undefined`: it has none of them. */
function statedKind({ headers }: MessageHead): "length" | "chunked" | undefined {
	const encoding = headers.get("transfer-encoding");
	const hasLength = headers.has("content-length");
	if (encoding === undefined) return hasLength ? "length" : undefined;
	if (hasLength || encoding.toLowerCase() !== "chunked")
		throw new FramingError("the transfer encoding is not supported");
	return "chunked";
}

export function requestBodyKind(head: MessageHead): BodyKind {
	const [method = "", target = "", version, more] = head.startLine;
	if (
		!/^[A-Z]{1,16}$/.test(method) ||
		method === "CONNECT" ||
		!TARGET.test(target) ||
		(version !== "HTTP/1.1" && version !== "HTTP/1.0") ||
		more !== undefined
	)
		throw new FramingError("the request line is malformed");
	const host = head.headers.get("host") ?? "";
	// The runtime makes an address of it.
	if (!/^[!-~]+$/.test(host) || !URL.canParse(`http://${host}`))
		throw new FramingError("the host is missing or malformed");
	const kind = statedKind(head) ?? "none";
	if (kind === "chunked" && version === "HTTP/1.0") throw new FramingError("HTTP/1.0 has no chunks");
	return kind;
}

/** `method`: of the request. */
export function answerBodyKind(head: MessageHead, method: string | undefined): BodyKind {
	const status = statusOf(head);
	if (status === 101) return "upgrade";
	if (status < 200 || status === 204 || status === 304 || method === "HEAD") return "none";
	return statedKind(head) ?? "close";
}

/** Whether the connection ends after the message, as the sender or the version says. */
export function endsConnection({ headers, startLine }: MessageHead): boolean {
	const hasClose = CLOSE_OPTION.test(headers.get("connection") ?? "");
	return hasClose || startLine.includes("HTTP/1.0");
}

export const statusOf = ({ startLine }: MessageHead): number => Number(startLine[1] ?? 0);
