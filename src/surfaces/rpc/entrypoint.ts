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
import { AiError, toAiError } from "../../core/errors.ts";
import { failureEnvelope } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import { headersIn } from "../../http/request-options.ts";
import { type SearchModel, search } from "../../models/search.ts";
import { traceOf, withTrace } from "../../outbound/passed-headers.ts";
import type { Caller } from "../../pipeline/request.ts";
import { DEFAULT_NAMESPACE } from "../../retrieval/search/records.ts";
import { NamespaceTarget } from "../aisearch/namespace-target.ts";
import { wireOf } from "../binding/binding.ts";
import { AiGateway } from "../gateway/gateway-wire.ts";
import { type ConversionResponse, type MarkdownDocument, ToMarkdownService } from "../markdown/markdown.ts";
import type { AppServices } from "../services.ts";
import { searchOverRpc } from "../websearch/websearch.ts";
import { type RpcRunOptions, runOverRpc } from "./run.ts";

interface EntrypointProps {
	account?: string;
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
		async run(
			model: string,
			inputs: Record<string, unknown>,
			options?: RpcRunOptions | null,
		): Promise<unknown> {
			const sent = { model, inputs, options: options ?? {}, caller: () => this.#caller() };
			return runOverRpc(sent, current().services);
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
				const app = wireOf(current().services);
				const caller = this.#caller();
				return withTrace(traceOf(request.headers), () => app.fetch(request, { caller }));
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
