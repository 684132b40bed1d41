/** A request's body, whole and bounded, as the inputs of a call. Everything wrong with it is the caller's to mend. */
import { AiError } from "../errors.ts";
import type { Inputs, Limits } from "../request.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;
/** What curl and some clients say when nobody told them what they send. */
const UNSAID_TYPE = /^(?:$|text\/plain|application\/x-www-form-urlencoded|application\/octet-stream)/i;
const OPENING_BRACE = 0x7b;
const WHITE_SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** A JSON body gives fields; any other stays bytes, for the dialect to know what they are. */
export async function readInputs(request: Request, limits: Limits): Promise<Inputs> {
	const contentType = request.headers.get("content-type")?.trim() ?? "";
	if (JSON_TYPE.test(contentType))
		return { fields: parseJson(await readBody(request, limits.jsonBytes), limits) };
	const bytes = await readBody(request, limits.uploadBytes);
	if (UNSAID_TYPE.test(contentType) && looksLikeJson(bytes)) {
		if (bytes.length > limits.jsonBytes) throw tooLarge(limits.jsonBytes);
		return { fields: parseJson(bytes, limits) };
	}
	return { fields: {}, body: { bytes, contentType } };
}

/** A body that has to be JSON, whatever its content type says. */
export async function readJson(request: Request, limits: Limits): Promise<unknown> {
	return parseJson(await readBody(request, limits.jsonBytes), limits);
}

export async function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
	if (Number(request.headers.get("content-length") ?? 0) > limit) {
		await request.body?.cancel();
		throw tooLarge(limit);
	}
	const bytes = request.body ? await readWhole(request.body, limit) : new Uint8Array();
	if (bytes.length === 0) throw new AiError("incompleteRequest", "Request is missing headers or body: body");
	return bytes;
}

/** Reads a stream to its end, or to `limit` bytes and an error; then its source is cancelled. */
export async function readWhole(
	stream: ReadableStream<Uint8Array>,
	limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
	const chunks: Uint8Array[] = [];
	let length = 0;
	for await (const chunk of stream) {
		length += chunk.length;
		if (length > limit) throw tooLarge(limit);
		chunks.push(chunk);
	}
	const bytes = new Uint8Array(length);
	let offset = 0;
	for (const chunk of chunks) {
		bytes.set(chunk, offset);
		offset += chunk.length;
	}
	return bytes;
}

export function parseJson(bytes: Uint8Array, { jsonDepth }: Pick<Limits, "jsonDepth">): unknown {
	let text: string;
	try {
		text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		throw new AiError("badInput", "Error: the request body is not valid UTF-8");
	}
	return boundDepth(parseText(text, "the request body"), jsonDepth);
}

/** The parser's own message quotes the body; ours only says where the fault is. */
export function parseText(text: string, what: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0];
		throw new AiError("badInput", `Error: ${what} is not valid JSON${place ? `, at ${place}` : ""}`);
	}
}

/** Code behind this recurses over what the caller nested; a bound here keeps every stack safe. */
export function boundDepth(value: unknown, limit: number): unknown {
	let level: object[] = isContainer(value) ? [value] : [];
	for (let depth = 1; level.length > 0; depth++) {
		if (depth > limit) throw new AiError("badInput", `Error: nested deeper than ${limit} levels`);
		level = level.flatMap((container) => Object.values(container).filter(isContainer));
	}
	return value;
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

function looksLikeJson(bytes: Uint8Array): boolean {
	return bytes.find((byte) => !WHITE_SPACE.has(byte)) === OPENING_BRACE;
}

const tooLarge = (limit: number): AiError =>
	new AiError("requestTooLarge", `Request is too large: more than ${limit} bytes`);
