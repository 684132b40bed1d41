/** The inputs of a `run` over RPC. Their bytes count as buffered until the request has its answer. */
import { AiError } from "../../core/errors.ts";
import type { BufferHold } from "../../core/process-counts.ts";
import { readStream } from "../../http/body.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import type { Limits } from "../../pipeline/limits.ts";
import type { Inputs } from "../../pipeline/request.ts";

/** Inputs other than the body must be JSON values. */
export async function readInputs(
	inputs: Record<string, unknown>,
	{ hold, limits }: { hold: BufferHold; limits: Limits },
): Promise<Inputs> {
	const result = await extractBody(inputs, { hold, limit: limits.uploadBytes });
	boundDepth(result.fields, limits.jsonDepth);
	hold.growBy(result.fields);
	return result;
}

/** One input may be a body: `{body: ReadableStream | FormData | bytes, contentType}`. */
async function extractBody(
	inputs: Record<string, unknown>,
	{ hold, limit }: { hold: BufferHold; limit: number },
): Promise<Inputs> {
	if (typeof inputs !== "object" || inputs === null) return { fields: inputs };
	const streams = Object.entries(inputs).filter(([, value]) => isStreamed(value));
	const [only, ...extra] = streams;
	if (!only) return { fields: inputs };
	if (extra.length > 0)
		throw new AiError(
			"invalidInput",
			`Multiple ReadableStreams are not supported. Found streams in keys: [${streams.map(([key]) => key).join(", ")}]`,
		);
	const [key, value] = only;
	const { [key]: _, ...fields } = inputs;
	const { body, contentType } = value as { body?: unknown; contentType?: unknown };
	if (typeof contentType !== "string" || !contentType)
		throw new AiError("invalidInput", "Content-Type is required with ReadableStream inputs");
	// A form is serialised here with a new boundary, so `contentType` of the input does not apply to it.
	const response = new Response(body as ReadableStream | FormData);
	const bytes = response.body ? await readStream(response.body, { limit, hold }) : new Uint8Array();
	return {
		fields,
		body: {
			bytes,
			contentType: (body instanceof FormData && response.headers.get("content-type")) || contentType,
		},
	};
}

/** Whether a part of the inputs must be read in the context of the call. */
export const hasStream = (inputs: unknown): boolean =>
	typeof inputs === "object" && inputs !== null && Object.values(inputs).some(isStreamed);

function isStreamed(value: unknown): boolean {
	const body = bodyOf(value);
	return body instanceof ReadableStream || body instanceof FormData;
}

const bodyOf = (value: unknown): unknown =>
	typeof value === "object" && value !== null && "body" in value ? value.body : value;

/** Cancels streams that were not read. Otherwise their sender waits until the runtime gives up. */
export function cancelStreams(inputs: unknown): void {
	if (typeof inputs !== "object" || inputs === null) return;
	for (const body of Object.values(inputs).map(bodyOf))
		if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => {});
}
