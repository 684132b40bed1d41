/** Reads the fields of requests. Each refusal names the field. */
import type { IncomingMessage } from "node:http";
import { EngineFailure, isOfCode } from "./failure.ts";

/** Of a request: a recording of an hour in WAV has 115 MB. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const MAX_TEXTS = 2_048;

type Body = Record<string, unknown>;

const tooLarge = (): EngineFailure => refuse(`The body is larger than ${MAX_BODY_BYTES} bytes`);
const refuse = (message: string): EngineFailure => new EngineFailure("invalid_input", message);

/** JSON is read of Node's own request, because a `Request` with a body costs as much CPU as the rest of a small answer. */
export async function readBody(incoming: IncomingMessage, request: Request): Promise<Body> {
	if (Number(incoming.headers["content-length"]) > MAX_BODY_BYTES) throw tooLarge();
	if (incoming.headers["content-type"]?.startsWith("multipart/form-data")) {
		try {
			return Object.fromEntries(await request.formData());
		} catch {
			throw refuse("The form cannot be read");
		}
	}
	const text = await textIn(incoming).catch((error: unknown) => {
		// An error in the loop destroys the request too.
		const isOfRequest = !(error instanceof EngineFailure || isOfCode(error));
		const hasLeft = isOfRequest && incoming.destroyed && !incoming.complete;
		throw hasLeft ? new EngineFailure("cancelled", "The caller has left") : error;
	});
	let body: unknown;
	try {
		body = JSON.parse(text);
	} catch {
		throw refuse("The body is no JSON");
	}
	if (typeof body !== "object" || body === null || Array.isArray(body))
		throw refuse("The body must be a JSON object");
	return body as Body;
}

async function textIn(incoming: IncomingMessage): Promise<string> {
	const pieces: Buffer[] = [];
	let size = 0;
	for await (const piece of incoming) {
		size += piece.length;
		if (size > MAX_BODY_BYTES) throw tooLarge();
		pieces.push(piece);
	}
	return Buffer.concat(pieces).toString();
}

export function textOf(body: Body, name: string): string;
export function textOf(body: Body, name: string, options: { required: false }): string | undefined;
export function textOf(body: Body, name: string, { required = true } = {}): string | undefined {
	const value = body[name];
	if (typeof value === "string" && value !== "") return value;
	if (!required && (value === undefined || value === null || value === "")) return undefined;
	throw refuse(`${name}: expected a text`);
}

/** One text, or a list of them. */
export function textsOf(body: Body, name: string): string[] {
	const value = body[name];
	const list = typeof value === "string" ? [value] : value;
	if (!Array.isArray(list) || list.length === 0 || list.some((text) => typeof text !== "string"))
		throw refuse(`${name}: expected a text, or a list of texts`);
	if (list.length > MAX_TEXTS) throw refuse(`${name}: expected at most ${MAX_TEXTS} texts`);
	return list as string[];
}

export function numberOf(body: Body, name: string): number | undefined {
	const value = body[name];
	if (value === undefined || value === null) return undefined;
	if (typeof value === "number" && value >= 0 && Number.isFinite(value)) return value;
	throw refuse(`${name}: expected a number that is not negative`);
}

export function flagOf(body: Body, name: string): boolean | undefined {
	const value = body[name];
	if (value === undefined || value === null || typeof value === "boolean") return value ?? undefined;
	throw refuse(`${name}: expected true or false`);
}

export function choiceOf<Choice extends string | number>(
	body: Body,
	name: string,
	choices: readonly Choice[],
): Choice | undefined {
	const value = body[name];
	if (value === undefined || value === null) return undefined;
	const found = choices.find((choice) => choice === value);
	if (found !== undefined) return found;
	throw refuse(`${name}: expected ${choices.join(" or ")}`);
}

/** A file of a form, or base64. */
export async function bytesOf(body: Body, name: string): Promise<Uint8Array> {
	const value = body[name];
	if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer());
	if (typeof value === "string" && value !== "" && /^[A-Za-z0-9+/]+={0,2}$/.test(value))
		return Buffer.from(value, "base64");
	throw refuse(`${name}: expected a file, or its base64`);
}
