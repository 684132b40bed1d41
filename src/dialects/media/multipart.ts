/** `multipart/form-data` bodies, read before validation so that readers stay synchronous. */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Media } from "../../media/media.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { badInput } from "../invalid-input.ts";

type Bytes = Media["bytes"];

export type FormPart = { name: string } & (
	| { value: string }
	| { bytes: Bytes; contentType: string; filename: string }
);

/** A class, so that a JSON body is never taken for a form. */
export class MultipartForm {
	/** In the order of the form. Names may repeat. */
	readonly parts: readonly FormPart[];

	constructor(parts: readonly FormPart[]) {
		this.parts = parts;
	}

	/** The text of the first part with the name that is not a file. */
	text(name: string): string | undefined {
		return this.texts(name)[0];
	}

	texts(name: string): string[] {
		return this.parts.flatMap((part) => (part.name === name && "value" in part ? [part.value] : []));
	}

	/** The bytes of the first part with the name. A part without a file name is text. */
	file(name: string): { bytes: Bytes; contentType: string } | undefined {
		const part = this.parts.find((each) => each.name === name);
		if (!part) return undefined;
		if ("bytes" in part) return part;
		return { bytes: new Uint8Array(new TextEncoder().encode(part.value)), contentType: "text/plain" };
	}
}

export interface WrappedForm {
	body: MultipartForm;
	contentType: string;
}

/** `{body, contentType}` as JSON Schema. */
export const WRAPPED_SCHEMA = {
	type: "object",
	properties: { body: { type: "object" }, contentType: { type: "string" } },
	required: ["body", "contentType"],
} as const;

/** A form as an input: `{body: <the form>, contentType}`. */
export const FormBody = z
	.custom<WrappedForm>()
	.check((context) => {
		const { value } = context;
		if (typeof value !== "object" || value === null)
			context.issues.push({ code: "invalid_type", expected: "object", input: value });
		else if (!(value.body instanceof MultipartForm))
			for (const property of ["body", "contentType"])
				context.issues.push({ code: "invalid_type", expected: "object", input: undefined, path: [property] });
	})
	.meta(WRAPPED_SCHEMA);

/** A boundary: RFC 2046, section 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{1,70}$/;
const BOUNDARY_PARAMETER = /;\s*boundary=(?:"([^"]*)"|([^\s;]*))/i;
/** The runtime needs 15 microseconds for each part, also for empty parts. */
const MAX_PARTS = 500;

/**
 * Parses a form. The binding sends `FormData` inputs with a `multipart/form-data` type without a boundary; then the first line
 * of the body has the boundary. Throws 5006.
 */
export async function parseMultipart(bytes: Bytes, contentType: string): Promise<MultipartForm> {
	if (!/^multipart\/form-data/i.test(contentType)) throw badInput("a multipart/form-data body is expected");
	const parameter = BOUNDARY_PARAMETER.exec(contentType);
	const boundary = parameter ? (parameter[1] ?? parameter[2] ?? "") : firstBoundary(bytes);
	if (!BOUNDARY.test(boundary)) throw malformed();
	refuseManyParts(bytes, boundary);
	let form: FormData;
	try {
		const type = `multipart/form-data; boundary="${boundary}"`;
		form = await new Response(bytes, { headers: { "content-type": type } }).formData();
	} catch (cause) {
		throw malformed(cause);
	}
	return new MultipartForm(await Promise.all([...form].map(([name, value]) => partOf(name, value))));
}

async function partOf(name: string, value: string | File): Promise<FormPart> {
	if (typeof value === "string") return { name, value };
	const bytes = new Uint8Array(await value.arrayBuffer());
	return { name, bytes, contentType: value.type, filename: value.name };
}

function firstBoundary(bytes: Bytes): string {
	const line = decodeUtf8(bytes.subarray(0, 128)).trimStart().split(/\r?\n/, 1)[0] ?? "";
	return line.startsWith("--") ? line.slice(2).trimEnd() : "";
}

/** Called before the form is parsed. A boundary inside a file also counts; such a form is malformed. */
function refuseManyParts(bytes: Bytes, boundary: string): void {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const delimiter = Buffer.from(`--${boundary}`);
	let position = buffer.indexOf(delimiter);
	// The last delimiter ends the form.
	for (let found = 0; position >= 0; found++) {
		if (found > MAX_PARTS) throw badInput(`the multipart/form-data body has more than ${MAX_PARTS} parts`);
		position = buffer.indexOf(delimiter, position + delimiter.length);
	}
}

const malformed = (cause?: unknown): AiError =>
	new AiError("badInput", "Error: the multipart/form-data body cannot be read", { cause });
