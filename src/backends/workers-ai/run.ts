/**
 * `run` of Workers AI: by REST, `POST {url}/run/{model}` with the result in an envelope; or by an `Ai` binding, which
 * takes the same inputs and returns the result without an envelope. Both use `http.ts`: a binding has its own `fetch`.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { Media } from "../../media/media.ts";
import { PRODUCT_MODELS } from "../../models/catalog.ts";
import type { Model } from "../../models/model.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { AiBinding } from "../backend.ts";
import { postBytes, postJson, type RequestBody } from "../transport/http.ts";
import { type Call, failureOfBody, failureOfShape, failureOfTarget } from "../transport/upstream-failure.ts";

export type WorkersAiInputs =
	| Record<string, unknown>
	| FormData
	/** A file as the body; the other inputs are in the query. */
	| { file: Blob; fields: Record<string, string | undefined> };

/** Requests JSON. `schema` is that of the result. */
export async function runJson<Schema extends z.ZodType>(
	call: Call,
	inputs: WorkersAiInputs,
	schema: Schema,
): Promise<z.output<Schema>> {
	const { path, body } = requestOf(call, inputs);
	return resultOf(await postJson(call, path, body, z.unknown()), schema, call);
}

/** The result in a reply: in an envelope over REST, without one over a binding. Proxies add it or remove it. */
export function resultOf<Schema extends z.ZodType>(
	sent: unknown,
	schema: Schema,
	call: Call,
): z.output<Schema> {
	const inner = Envelope.safeParse(sent).data?.result;
	for (const result of call.target.binding ? [sent, inner] : [inner, sent]) {
		const parsed = result === undefined ? undefined : safeParse(schema, result);
		if (parsed?.success) return parsed.data;
	}
	throw call.refusal?.({ body: sent }) ?? failureOfShape(call, `a result of ${call.target.model}`, sent);
}

const Envelope = z.looseObject({ result: z.unknown() });

/** The value of an event of a stream. Throws the error that it contains. */
export function eventIn(data: string, call: Call): unknown {
	const sent: unknown = JSON.parse(data);
	if (isRecord(sent) && ("error" in sent || "errors" in sent)) throw failureOfBody(call, sent);
	return sent;
}

/** Requests a file. */
export async function runBytes(call: Call, inputs: WorkersAiInputs): Promise<Media> {
	const { path, body } = requestOf(call, inputs);
	return postBytes(call, path, body);
}

/** The request of a `run`, for callers that read the reply themselves. */
export function requestOf(call: Call, inputs: WorkersAiInputs): { path: string; body: RequestBody } {
	const path = runPath(call);
	if (inputs instanceof FormData || !(inputs.file instanceof Blob)) return { path, body: inputs };
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(inputs.fields ?? {}))
		if (value !== undefined) query.append(name, String(value));
	return { path: query.size > 0 ? `${path}?${query}` : path, body: inputs.file };
}

/** With a pattern, the caller names the model. The name must not lead to another path. */
function runPath({ target }: Call): string {
	const segments = target.model.split("/");
	if (segments.some((segment) => /^\.{0,2}$/.test(segment)))
		throw failureOfTarget(target, "noSuchModel", `has no model '${target.model}'`, { retryable: true });
	return `/run/${segments.map((segment) => encodeURIComponent(segment).replace(/^%40/, "@")).join("/")}`;
}

/** The model that the upstream runs: a route may send requests for one model to another. */
export const upstreamModel = ({ target, model }: Call): Model =>
	target.model === model.id ? model : (PRODUCT_MODELS.find(({ id }) => id === target.model) ?? model);

/** A file in JSON, for the older models. */
export const byteList = ({ bytes }: Media): number[] => Array.from(bytes);

/**
 * An `Ai` binding as a `fetch`. The binding has its own wire format, which is internal to the runtime. With
 * `returnRawResponse` it returns the response unchanged, errors included.
 */

const PREFIX = "/run/";

/** Accepts only the requests of `run.ts`. The address is a path. */
export function bindingFetch(binding: AiBinding): typeof fetch {
	return async (input, init) => {
		const { pathname, searchParams } = new URL(String(input), "https://binding");
		const model = decodeURIComponent(pathname.slice(PREFIX.length));
		const inputs = await inputsOf(init?.body, Object.fromEntries(searchParams));
		const options = { returnRawResponse: true, ...(init?.signal && { signal: init.signal }) };
		return binding.run(model, inputs, options);
	};
}

/** A file and a form are sent as streams. Their file names are lost: the wire format has no field for them. */
async function inputsOf(body: unknown, fields: Record<string, string>): Promise<Record<string, unknown>> {
	if (typeof body === "string") return JSON.parse(body) as Record<string, unknown>;
	if (body instanceof Blob) return { ...fields, audio: { body: body.stream(), contentType: body.type } };
	const form = new Response(body as FormData);
	return { ...fields, multipart: { body: form.body, contentType: form.headers.get("content-type") } };
}
