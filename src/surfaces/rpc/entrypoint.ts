/**
 * The RPC entrypoint `AI`: `env.AI` as a service binding, for deployed Workers.
 *
 *     "services": [{ "binding": "AI", "service": "ganglion", "entrypoint": "AI", "props": { "account": "team-a" } }]
 *
 * The account comes from the binding's `props`, which only the operator of the calling Worker's configuration can set,
 * never from what the caller passes. `fetch` speaks the wire of the runtime's own `Ai` class (binding.ts).
 *
 * Differences from the product's binding: an error crosses RPC with its name, message, `internalCode` and `httpCode`,
 * but is not an instance of the runtime's class; `lastRequestId` and its kin are properties of that class and are not
 * here (ask for `returnRawResponse`).
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError, toAiError } from "../../core/errors.ts";
import { nativeDialect } from "../../dialects/index.ts";
import { boundDepth, readStream } from "../../http/body.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { headersIn, readRequestOptions } from "../../http/request-options.ts";
import { toRpcError } from "../../http/rpc-error.ts";
import type { SearchModel } from "../../models/search.ts";
import { search } from "../../models/search.ts";
import type { Limits } from "../../pipeline/limits.ts";
import type { Caller, Inputs, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { wireFailure, wireOf } from "../binding/binding.ts";
import { AiGateway } from "../gateway/gateway-wire.ts";
import { type ConversionResponse, type MarkdownDocument, ToMarkdownService } from "../markdown.ts";
import { refuseQueue } from "../queue.ts";
import { checkTags } from "../tags.ts";

export interface EntrypointProps {
	account?: string;
}

/** Third argument of `run`; what is not named here concerns parts that this gateway does not have, and is ignored. */
export interface RunOptions {
	returnRawResponse?: boolean;
	signal?: AbortSignal;
	queueRequest?: boolean;
	websocket?: boolean;
	/** Of these, `x-session-affinity` and `x-ganglion-single-flight` are read. */
	extraHeaders?: Record<string, unknown>;
}

/** The account of a local caller whose binding names none. */
const ANONYMOUS_ACCOUNT = "anonymous";

/** The configuration that a call uses until its end. A reload replaces it for later calls. */
export interface EntrypointWorld {
	services: Services;
	allowAnonymous: boolean;
}

export function entrypoint(current: () => EntrypointWorld) {
	return class extends WorkerEntrypoint<unknown, EntrypointProps> {
		/**
		 * Runs a model: an object for JSON answers, a `ReadableStream` for streams, images and audio, a `Response` with
		 * `returnRawResponse`. Throws an error with `name` "AiError", `message` "{code}: {description}", `internalCode`.
		 */
		async run(model: string, inputs: Record<string, unknown>, options?: RunOptions | null): Promise<unknown> {
			const { services } = current();
			const id = services.uuid();
			const { returnRawResponse, signal = new AbortController().signal } = options ?? {};
			try {
				refuseUnavailable(options ?? {});
				const caller = this.#caller();
				checkTags(options);
				const reply = await run(
					{
						id,
						caller,
						model,
						dialect: nativeDialect,
						inputs: await takeInputs(inputs, services.limits),
						signal,
						...readRequestOptions({
							headers: headersIn(options?.extraHeaders),
							account: caller.account,
							options,
						}),
					},
					services,
				);
				return returnRawResponse ? replyResponse(reply, id, WRAPS.bare) : unwrapped(reply);
			} catch (thrown) {
				const error = toAiError(thrown);
				services.log(error, id);
				cancelStreams(inputs);
				if (returnRawResponse) return wireFailure(error, id);
				throw toRpcError(error);
			}
		}

		/** `models/search`, as the binding has it: the list alone. */
		models(params?: Record<string, unknown> | null): SearchModel[] {
			return this.#guarded(() => {
				const { services } = current();
				const query = Object.entries(params ?? {}).map(([key, value]) => [key, String(value)]);
				return search(services.catalog, Object.fromEntries(query), services.now()).result;
			});
		}

		/** Without files, the service with `transform` and `supported`. */
		toMarkdown(): ToMarkdownService;
		toMarkdown(files: MarkdownDocument[], options?: unknown): Promise<ConversionResponse[]>;
		toMarkdown(files: MarkdownDocument, options?: unknown): Promise<ConversionResponse>;
		toMarkdown(
			files?: MarkdownDocument | MarkdownDocument[],
			options?: unknown,
		): ToMarkdownService | Promise<ConversionResponse | ConversionResponse[]> {
			return this.#guarded((caller) => {
				const service = new ToMarkdownService(caller, current().services);
				return files === undefined ? service : service.transform(files, options);
			});
		}

		gateway(id: string): AiGateway {
			return this.#guarded((caller) => new AiGateway(id, caller, current().services));
		}

		/** A method of the runtime's class. Without it the caller gets a TypeError about a missing method. */
		aiSearch(): never {
			throw toRpcError(notAvailable("AI Search"));
		}

		websearch(): never {
			throw toRpcError(notAvailable("web search"));
		}

		override fetch(request: Request): Response | Promise<Response> {
			try {
				return wireOf(current().services).fetch(request, { caller: this.#caller() });
			} catch (error) {
				return failureEnvelope(toAiError(error), "");
			}
		}

		/** Runs `answer`, and gives its error the form that crosses RPC. */
		#guarded<T>(answer: (caller: Caller) => T): T {
			try {
				return answer(this.#caller());
			} catch (error) {
				throw toRpcError(toAiError(error));
			}
		}

		#caller(): Caller {
			const account = (this.ctx.props as EntrypointProps | undefined)?.account;
			// Only the operator can write the configuration of another Worker.
			const operator = { credential: { kind: "operator" }, verified: true } as const;
			if (account) return { account, ...operator };
			if (current().allowAnonymous) return { account: ANONYMOUS_ACCOUNT, ...operator };
			throw new AiError("authentication", "Authentication error: the service binding has no props.account");
		}
	};
}

const notAvailable = (product: string): AiError =>
	new AiError("invalidInput", `Invalid input: ${product} is not available in Ganglion`);

function unwrapped({ body }: Reply): unknown {
	switch (body.kind) {
		case "json":
			return body.value;
		case "bytes":
			return new Response(body.media.bytes).body;
		case "events":
			return body.events;
		case "socket":
			// No dialect that `run` names has one.
			throw new AiError("executionFailed");
		default:
			return body satisfies never;
	}
}

function refuseUnavailable({ queueRequest, websocket }: RunOptions): void {
	if (queueRequest) refuseQueue();
	// The runtime cannot pass a Response with a websocket over RPC.
	if (websocket)
		throw new AiError(
			"invalidInput",
			"Invalid input: a websocket does not cross RPC; use the runtime's own AI binding, or fetch of this one",
		);
}

/** Inputs other than the body must be JSON values. */
async function takeInputs(inputs: Record<string, unknown>, limits: Limits): Promise<Inputs> {
	const taken = await takeBody(inputs, limits.uploadBytes);
	boundDepth(taken.fields, limits.jsonDepth);
	return taken;
}

/** One input may be a body: `{body: ReadableStream | FormData | bytes, contentType}`. */
async function takeBody(inputs: Record<string, unknown>, limit: number): Promise<Inputs> {
	if (typeof inputs !== "object" || inputs === null) return { fields: inputs };
	const streams = Object.entries(inputs).filter(([, value]) => isStreamed(value));
	const [only, ...more] = streams;
	if (!only) return { fields: inputs };
	if (more.length > 0)
		throw new AiError(
			"invalidInput",
			`Multiple ReadableStreams are not supported. Found streams in keys: [${streams.map(([key]) => key).join(", ")}]`,
		);
	const [key, value] = only;
	const { [key]: _, ...fields } = inputs;
	const { body, contentType } = value as { body?: unknown; contentType?: unknown };
	if (typeof contentType !== "string" || !contentType)
		throw new AiError("invalidInput", "Content-Type is required with ReadableStream inputs");
	// A form is serialised here, so its boundary is ours, whatever content type was named beside it.
	const response = new Response(body as ReadableStream | FormData);
	const bytes = response.body ? await readStream(response.body, { limit }) : new Uint8Array();
	return {
		fields,
		body: {
			bytes,
			contentType: (body instanceof FormData && response.headers.get("content-type")) || contentType,
		},
	};
}

function isStreamed(value: unknown): boolean {
	const body = bodyOf(value);
	return body instanceof ReadableStream || body instanceof FormData;
}

const bodyOf = (value: unknown): unknown =>
	typeof value === "object" && value !== null && "body" in value ? value.body : value;

/** Cancels streams that were not read. Otherwise their sender waits until the runtime gives up. */
function cancelStreams(inputs: unknown): void {
	if (typeof inputs !== "object" || inputs === null) return;
	for (const body of Object.values(inputs).map(bodyOf))
		if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => {});
}
