/**
 * The RPC entrypoint `AI`: `env.AI` as a service binding, for deployed Workers.
 *
 *     "services": [{ "binding": "AI", "service": "ganglion", "entrypoint": "AI", "props": { "account": "team-a" } }]
 *
 * The account comes from the binding's `props`, never from the arguments of a call. Only the configuration of the calling
 * Worker can set `props`. `fetch` answers the wire protocol of the runtime's `Ai` class (binding.ts).
 *
 * Differences from the product's binding: RPC keeps the name, message, `internalCode` and `httpCode` of an error, but not
 * the runtime's class; `lastRequestId` and similar properties of that class do not exist (use `returnRawResponse`).
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { GatewayRequired } from "../../accounts/bound-gateway.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { loadDialect } from "../../dialects/index.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { optionsOfRun } from "../../gateways/options.ts";
import { withoutGateway } from "../../gateways/run/bound-caller.ts";
import { defaultGateway, gatewayOfOptions, type RunModel } from "../../gateways/run/model-in-gateway.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import { checkTags, headersIn, inferenceRequest, refuseQueue } from "../../http/request-options.ts";
import { type SearchModel, search } from "../../models/search.ts";
import type { Caller, InferenceRequest, Reply } from "../../pipeline/request.ts";
import { DEFAULT_NAMESPACE } from "../../retrieval/search/records.ts";
import { NamespaceTarget } from "../aisearch/namespace-target.ts";
import { wireOf } from "../binding/binding.ts";
import { wireFailure } from "../binding/run-failure.ts";
import { AiGateway } from "../gateway/gateway-wire.ts";
import { headersOf } from "../gateway/step.ts";
import { type ConversionResponse, type MarkdownDocument, ToMarkdownService } from "../markdown/markdown.ts";
import { endpointRun, inEndpointFormat } from "../openai/run-endpoint.ts";
import type { AppServices } from "../services.ts";
import { searchOverRpc } from "../websearch/websearch.ts";
import { cancelStreams, readInputs } from "./inputs.ts";
import { queuedRun } from "./queued.ts";
import { runInGatewayOf, unwrappedResponse } from "./run-in-gateway.ts";

interface EntrypointProps {
	account?: string;
}

/** Third argument of `run`. Other options are for parts that this gateway does not have, and are ignored. */
export interface RunOptions {
	returnRawResponse?: boolean;
	signal?: AbortSignal;
	queueRequest?: boolean;
	websocket?: boolean;
	/** `{id, …}`: the options of `optionsOfRun`. */
	gateway?: unknown;
	/** Only the headers of `request-options.ts` are used, and in a gateway the `cf-aig-*` headers of its options. */
	extraHeaders?: Record<string, unknown>;
	/** `inEndpointFormat` */
	openaiEndpoint?: unknown;
}

/** The account of a local caller whose binding has no account. */
const ANONYMOUS_ACCOUNT = "anonymous";

/** Each call uses one of these until its end. A reload replaces it for later calls. */
interface EntrypointServices {
	services: AppServices;
	allowAnonymous: boolean;
}

export function entrypoint(current: () => EntrypointServices) {
	return class extends WorkerEntrypoint<unknown, EntrypointProps> {
		/**
		 * Runs a model: an object for JSON answers, a `ReadableStream` for streams, images and audio, a `Response` with
		 * `returnRawResponse`. Throws an error with `name` "AiError", `message` "{code}: {description}", `internalCode`.
		 */
		async run(model: string, inputs: Record<string, unknown>, options?: RunOptions | null): Promise<unknown> {
			const { services } = current();
			const id = services.uuid();
			let inGateway: Response;
			let hold: BufferHold | undefined;
			const { returnRawResponse, signal = new AbortController().signal } = options ?? {};
			try {
				const caller = this.#caller();
				const held = new BufferHold(caller.account);
				hold = held;
				const queued = await queuedRun({ id, caller, services }, { model, inputs, options: options ?? {} });
				if (queued) return returnRawResponse ? queued : await unwrappedResponse(queued);
				const read = async (): Promise<InferenceRequest> => {
					refuseUnavailable(options ?? {});
					checkTags(options);
					return inferenceRequest({
						id,
						caller,
						...inEndpointFormat(
							{
								model,
								dialect: loadDialect,
								inputs: await readInputs(inputs, { hold: held, limits: services.limits }),
							},
							options,
						),
						signal,
						headers: headersIn(options?.extraHeaders),
						options,
					});
				};
				const named = gatewayOfOptions(options);
				let otherwise = defaultGateway(model);
				let request: InferenceRequest | undefined;
				if (named === undefined && otherwise === undefined) {
					request = await read();
					const reply = await runOutside(endpointRun(model, options), request, services);
					if (!(reply instanceof GatewayRequired))
						return returnRawResponse ? replyResponse(reply, id, WRAPS.bare) : unwrapped(reply);
					otherwise = reply.gateway.id;
				}
				const call = { id, caller, model, signal, read: async () => request ?? read(), options };
				const gateway = {
					...{ named, otherwise },
					options: () => optionsOfRun(options?.gateway, headersOf(options?.extraHeaders ?? {})),
				};
				inGateway = await runInGatewayOf(call, gateway, services);
			} catch (thrown) {
				const error = toAiError(thrown);
				services.log(error, id);
				if (returnRawResponse) return wireFailure(error, id);
				throw toRpcError(error);
			} finally {
				hold?.release();
				cancelStreams(inputs);
			}
			return returnRawResponse ? inGateway : unwrappedResponse(inGateway);
		}

		/** `models/search` of the binding: the list without the envelope. */
		models(params?: Record<string, unknown> | null): SearchModel[] {
			return this.#guarded(() => {
				const { services } = current();
				const query = Object.entries(params ?? {}).map(([key, value]) => [key, String(value)]);
				return search(services.catalog, Object.fromEntries(query), services.now()).result;
			});
		}

		/** Without files it returns the service with `transform` and `supported`. */
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

		/** The namespace `default` of AI Search. */
		aiSearch(): NamespaceTarget {
			return this.#guarded(
				(caller) =>
					new NamespaceTarget({ caller, namespace: DEFAULT_NAMESPACE, services: current().services }),
			);
		}

		/** Searches the web in a gateway of the account. The response has the form of the REST route, also for a failure. */
		websearch(
			request: unknown,
			params?: { extraHeaders?: Record<string, unknown> } | null,
		): Promise<Response> {
			return this.#guarded((caller) =>
				searchOverRpc(request, { caller, headers: headersIn(params?.extraHeaders) }, current().services),
			);
		}

		override fetch(request: Request): Response | Promise<Response> {
			try {
				return wireOf(current().services).fetch(request, { caller: this.#caller() });
			} catch (error) {
				return failureEnvelope(toAiError(error), "");
			}
		}

		/** Runs `answer`. Converts an error to one that RPC can transfer. */
		#guarded<T>(answer: (caller: Caller) => T): T {
			try {
				return answer(this.#caller());
			} catch (error) {
				throw toRpcError(toAiError(error));
			}
		}

		#caller(): Caller {
			const account = (this.ctx.props as EntrypointProps | undefined)?.account;
			// Only the operator can write the configuration of the calling Worker.
			const operator = { credential: { kind: "operator" }, verified: true } as const;
			if (account) return { account, ...operator };
			if (current().allowAnonymous) return { account: ANONYMOUS_ACCOUNT, ...operator };
			throw new AiError("authentication", "Authentication error: the service binding has no props.account");
		}
	};
}

/** Runs a request that names no gateway. Returns the refusal if its account binds one. */
async function runOutside(
	run: RunModel,
	request: InferenceRequest,
	services: AppServices,
): Promise<Reply | GatewayRequired> {
	try {
		return await run({ ...request, caller: withoutGateway(request.caller) }, services);
	} catch (thrown) {
		if (thrown instanceof GatewayRequired) return thrown;
		throw thrown;
	}
}

function unwrapped({ body }: Reply): unknown {
	switch (body.kind) {
		case "json":
			return body.value;
		case "bytes":
			return new Response(body.media.bytes).body;
		case "events":
			return body.events;
		case "socket":
			// The native dialects of `run` have no sockets.
			throw new AiError("executionFailed");
		default:
			return body satisfies never;
	}
}

function refuseUnavailable({ queueRequest, websocket }: RunOptions): void {
	if (queueRequest) refuseQueue();
	// The runtime cannot pass a Response with a websocket over RPC.
	if (websocket)
		throw invalidInput(
			"a websocket does not cross RPC; use the runtime's own AI binding, or fetch of this one",
		);
}
