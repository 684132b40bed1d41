/**
 * Markdown conversion at its three entry points: the binding (files as base64 in JSON), REST (a form) and RPC. Each file
 * has its own result. The failure of one file does not affect the others. The models that describe images run in the gateway that the
 * call names.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Context } from "hono";
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { fieldNotes, ignoredNames } from "../../core/field-notes.ts";
import { lazy } from "../../core/lazy.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { loadDialect } from "../../dialects/index.ts";
import { badInput } from "../../dialects/invalid-input.ts";
import { type MultipartForm, parseMultipart } from "../../dialects/media/multipart.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { optionsInHeaders, optionsOfRun } from "../../gateways/options.ts";
import {
	gatewayOfHeaders,
	gatewayOfOptions,
	type ModelGateway,
} from "../../gateways/run/model-in-gateway.ts";
import { parseText, readBody, readJson } from "../../http/body.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { countRequest } from "../../http/count-request.ts";
import { envelope } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import { inOwnContext } from "../../http/own-context.ts";
import { decodeBase64 } from "../../media/base64.ts";
import type { Caller } from "../../pipeline/request.ts";
import { type ConversionCaller, convertFiles, type SentFile } from "../../retrieval/documents/convert.ts";
import { SUPPORTED, type SupportedFormat } from "../../retrieval/documents/formats.ts";
import { ConversionOptions } from "../../retrieval/documents/options.ts";
import { ignoredIn } from "../../schemas/ignored-fields.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { headersOf } from "../gateway/step.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { runInGatewayOf } from "../rpc/run-in-gateway.ts";
import { unwrappedResponse } from "../rpc/unwrapped-response.ts";
import type { AppServices } from "../services.ts";

export type ConversionResponse = { id: string; name: string; mimeType: string } & (
	| { format: "markdown" | "text"; tokens: number; data: string }
	| { format: "error"; error: string }
);

const Options = lazy(() =>
	z
		.object({
			conversionOptions: ConversionOptions().nullish(),
			gateway: z.unknown().optional(),
			extraHeaders: z.record(z.string(), z.unknown()).nullish(),
		})
		.nullish(),
);

const WireBody = lazy(() =>
	z.object({
		files: z.array(z.object({ name: z.string(), mimeType: z.string(), data: z.string() })),
		options: Options(),
	}),
);

const ABOUT = "toMarkdown";

/** Names of the form's fields: the product's, and the form in which the official SDK writes an array. */
const FILES = new Set(["files", "files[]"]);

/** A request to convert files. Its models run in the gateway that the call names. */
interface Transformation {
	caller: Caller;
	signal: AbortSignal;
	gateway: Pick<ModelGateway, "named" | "options">;
	files: readonly SentFile[];
	options: ConversionOptions;
}

async function transform(
	{ files, options, ...context }: Transformation,
	services: AppServices,
): Promise<ConversionResponse[]> {
	const conversions = await convertFiles(files, options, conversionCaller(context, services), services);
	return conversions.map((conversion) => {
		const id = services.uuid();
		if (conversion.format !== "error") return { id, ...conversion };
		const { unexpected, ...failure } = conversion;
		if (unexpected !== undefined)
			services.log(new AiError("executionFailed", undefined, { cause: errorOf(unexpected) }), id);
		return { id, ...failure };
	});
}

/** The log shows the name and the places of an error, which the converter has sent as a stack. */
function errorOf(stack: string): Error {
	const [name = ""] = stack.split("\n", 1);
	return Object.assign(new Error(), { name, stack });
}

/** Runs models for the caller of a conversion, each as a request of its own in the gateway. */
const conversionCaller = (
	{ caller, gateway, signal }: Pick<Transformation, "caller" | "gateway" | "signal">,
	services: AppServices,
): ConversionCaller => ({
	account: caller.account,
	async runModel(model, inputs) {
		const id = services.uuid();
		const request = { id, caller, model, dialect: loadDialect, inputs, signal };
		const call = { id, caller, model, signal, read: async () => request, options: undefined };
		return unwrappedResponse(await runInGatewayOf(call, { ...gateway, otherwise: gateway.named }, services));
	},
});

/** `/to-everything/markdown` of the binding. */
export const wireMarkdownRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [{ path: "/to-everything/markdown" }], tag: "Binding" },
	[
		{
			method: "POST",
			path: "/transformer",
			summary: "Converts files to Markdown",
			input: { type: "application/json", schema: WireBody },
			permission: "run",
			handler: convertWire,
		},
		{
			method: "GET",
			path: "/supported",
			summary: "Lists the formats that are converted",
			permission: "read",
			handler: () => Response.json({ success: true, result: SUPPORTED }),
		},
	],
);

/** `/ai/tomarkdown` over REST. */
export const markdownRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/tomarkdown")], tag: "Markdown" },
	[
		{
			method: "POST",
			path: "",
			summary: "Converts files to Markdown",
			input: { type: "multipart/form-data", example: { files: "@report.html" } },
			permission: "run",
			lazy: true,
			handler: convertForm,
		},
		{
			method: "GET",
			path: "/supported",
			summary: "Lists the formats that are converted",
			permission: "read",
			output: answer("formatsAnswer"),
			handler: () => envelope(SUPPORTED),
		},
	],
);

async function convertWire(c: Context, { caller, services }: AppCall): Promise<Response> {
	await countRequest("Markdown Conversion", caller, services);
	const { limits } = services;
	// The same limit as for files in a form.
	const body = await readJson(c.req.raw, {
		...services,
		limits: { ...limits, jsonBytes: limits.uploadBytes },
	});
	const { files: sent, options } = validate(WireBody(), body);
	services.hint?.(ABOUT, ignoredIn(WireBody(), body));
	const files = sent.map(({ data, ...file }) => ({ ...file, bytes: decodeBase64(data) }));
	const { headers, signal } = c.req.raw;
	const gateway = {
		named: gatewayOfOptions(options),
		options: () => optionsOfRun(options?.gateway, headers),
	};
	const result = await transform(
		{ caller, signal, gateway, files, options: options?.conversionOptions ?? {} },
		services,
	);
	return Response.json({ success: true, result });
}

async function convertForm(c: Context, { caller, services }: AppCall): Promise<Response> {
	await countRequest("Markdown Conversion", caller, services);
	const { limits } = services;
	const bytes = await readBody(c.req.raw, limits.uploadBytes, services);
	const form = await parseMultipart(bytes, c.req.header("content-type") ?? "");
	const files = form.parts.flatMap((part): SentFile[] =>
		FILES.has(part.name) && "bytes" in part
			? [{ name: part.filename, mimeType: part.contentType, bytes: part.bytes }]
			: [],
	);
	if (files.length === 0) throw badInput("required properties at '/' are 'files'");
	const text = form.text("conversionOptions");
	const options = text ? boundDepth(parseText(text, "conversionOptions"), limits.jsonDepth) : {};
	const { headers, signal } = c.req.raw;
	const gateway = { named: gatewayOfHeaders(headers), options: () => optionsInHeaders(headers) };
	const result = await transform(
		{ caller, signal, gateway, files, options: validate(ConversionOptions(), options) },
		services,
	);
	const ignored = ignoredInForm(form, options);
	services.hint?.(ABOUT, ignored);
	return envelope(result, { messages: fieldNotes(ignored) });
}

/** A sentence for each field without effect. The product ignores them. */
function ignoredInForm({ parts }: MultipartForm, options: unknown): string[] {
	const names = new Set(parts.map(({ name }) => name));
	return [
		...ignoredNames([...names], [...FILES, "conversionOptions"]),
		...ignoredIn(ConversionOptions(), options, { path: "conversionOptions" }),
	];
}

/** A file as callers of the binding pass it. */
export interface MarkdownDocument {
	name: string;
	blob: Blob;
}

/** The object that `toMarkdown()` returns over RPC. */
export class ToMarkdownService extends RpcTarget {
	readonly #caller: Caller;
	readonly #services: AppServices;

	constructor(caller: Caller, services: AppServices) {
		super();
		this.#caller = caller;
		this.#services = services;
	}

	transform(files: MarkdownDocument[], options?: unknown): Promise<ConversionResponse[]>;
	transform(files: MarkdownDocument, options?: unknown): Promise<ConversionResponse>;
	transform(
		files: MarkdownDocument | MarkdownDocument[],
		options?: unknown,
	): Promise<ConversionResponse | ConversionResponse[]>;
	/** Returns a list for a list, and one result for one file. Throws the same errors as `run`. */
	async transform(
		files: MarkdownDocument | MarkdownDocument[],
		options?: unknown,
	): Promise<ConversionResponse | ConversionResponse[]> {
		const documents = [files].flat();
		const results = await inOwnContext((left) => this.#transform(documents, options, left));
		const [only] = results;
		return Array.isArray(files) || !only ? results : only;
	}

	async #transform(
		documents: readonly MarkdownDocument[],
		options: unknown,
		signal: AbortSignal,
	): Promise<ConversionResponse[]> {
		const caller = this.#caller;
		const services = this.#services;
		const hold = new BufferHold(caller.account).releaseOn(signal);
		try {
			await countRequest("Markdown Conversion", caller, services);
			hold.grow(sizeWithin(documents, services.limits.uploadBytes));
			const files = await Promise.all(documents.map(readDocument));
			const { conversionOptions, gateway, extraHeaders } = validate(Options(), options) ?? {};
			services.hint?.(ABOUT, ignoredIn(Options(), options, { path: "options" }));
			const named = gatewayOfOptions({ gateway });
			const inGateway = { named, options: () => optionsOfRun(gateway, headersOf(extraHeaders ?? {})) };
			return await transform(
				{ caller, signal, gateway: inGateway, files, options: conversionOptions ?? {} },
				services,
			);
		} catch (error) {
			throw toRpcError(toAiError(error));
		} finally {
			hold.release();
		}
	}

	supported(): readonly SupportedFormat[] {
		return SUPPORTED;
	}
}

function sizeWithin(documents: readonly Partial<MarkdownDocument>[], limit: number): number {
	const size = documents.reduce((sum, document) => sum + (document?.blob?.size ?? 0), 0);
	if (size > limit) throw new AiError("requestTooLarge", `Request is too large: more than ${limit} bytes`);
	return size;
}

async function readDocument(document: Partial<MarkdownDocument> | undefined): Promise<SentFile> {
	const { name, blob } = document ?? {};
	if (typeof name !== "string" || !(blob instanceof Blob))
		throw badInput("required properties at '/files' are 'name,blob'");
	return { name, mimeType: blob.type, bytes: new Uint8Array(await blob.arrayBuffer()) };
}
