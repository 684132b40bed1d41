/**
 * AI Gateway, `env.AI.gateway(id)`: on the binding below `https://workers-binding.ai/ai-gateway` (workerd,
 * `src/cloudflare/internal/aig-api.ts`; a provider's API below `/gateways/{gateway}/{provider}`, which the package `agents` calls with the
 * binding's `fetch`), over RPC, and at its own addresses `/v1/{account}/{gateway}/…`.
 *
 * `getUrl` returns an address of this gateway: on the origin of the HTTP request, or on `PUBLIC_URL`. A Worker behind a
 * binding does not know its own address. Without `PUBLIC_URL` the host is one that never resolves. Therefore a client that
 * does not use `env.AI.fetch` sends no prompt and no key to another server.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Context } from "hono";
import { toAiError } from "../../core/errors.ts";
import type { FieldNote } from "../../core/field-notes.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { timeOfId } from "../../gateways/logs/log-row.ts";
import { mergedOptions, optionsInBinding, optionsInHeaders } from "../../gateways/options.ts";
import { isKnownProvider, unknownProvider } from "../../gateways/run/provider-names.ts";
import type { Step } from "../../gateways/run/step.ts";
import { parseFields, readStored } from "../../http/account-request.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { failureEnvelope } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import { inOwnContext } from "../../http/own-context.ts";
import { BY_MODEL, pathParameter } from "../../http/route.ts";
import { traceOf, withTrace } from "../../outbound/passed-headers.ts";
import type { Caller } from "../../pipeline/request.ts";
import { V1 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { ADDRESSES, runUniversal } from "./addresses.ts";
import { gatewayPlaneFailure } from "./gateway-failure.ts";
import { changeLog, logName, readLog } from "./log-access.ts";
import { LogPatchBody, logJson, patchOf } from "./log-json.ts";
import { providerAddresses } from "./provider-addresses.ts";
import { EVENTS, resumeStream } from "./resume.ts";
import { headersOf, readSteps, Steps } from "./step.ts";
import { runSteps, type StepsRequest } from "./steps.ts";

/** Its top-level domain is reserved and never resolves (RFC 2606). */
const UNREACHABLE_ORIGIN = "https://ganglion.invalid";

/** `origin`: of the HTTP request that was forwarded. Absent on a binding. */
export type WireBindings = { caller: Caller; origin?: string };

const GATEWAY = { tag: "AI Gateway", failure: gatewayPlaneFailure };

/** AI Gateway's own addresses over HTTP. */
export const gatewayRoutes: readonly AppRoute[] = defineRoutes({ ...GATEWAY, bases: [V1] }, ADDRESSES);

/** The requests of `env.AI.gateway(id)`. */
export const gatewayWireRoutes: readonly AppRoute[] = [
	...defineRoutes({ ...GATEWAY, bases: [{ path: "/ai-gateway" }] }, [
		{
			method: "POST",
			path: "/universal/run/:gateway",
			summary: "Runs requests in order until one succeeds",
			input: { type: "application/json", schema: Steps },
			output: BY_MODEL,
			permission: "run",
			handler: runUniversal,
		},
		{
			method: "GET",
			path: "/gateways/:gateway/url/:provider",
			summary: "Shows the address of a provider",
			// The runtime's class reads the message in `errors`.
			failure: failureEnvelope,
			permission: "run",
			handler: showUrl,
		},
		{
			method: "GET",
			path: "/gateways/:gateway/logs/:log",
			summary: "Shows a log",
			permission: "run",
			handler: async (c, call) => success(logJson(await readLog(logName(c, call), call.services))),
		},
		{
			method: "PATCH",
			path: "/gateways/:gateway/logs/:log",
			summary: "Sets feedback, score or metadata of a log",
			input: { type: "application/json", schema: LogPatchBody },
			permission: "run",
			handler: patchLog,
		},
		{
			method: "GET",
			path: "/gateways/:gateway/run/:run/resume",
			summary: "Resumes a stream",
			output: EVENTS,
			permission: "run",
			handler: resumeStream,
		},
		...providerAddresses("/gateways/:gateway"),
	]),
	...defineRoutes({ ...GATEWAY, bases: [{ path: V1.path }] }, ADDRESSES),
];

function showUrl(c: Context<{ Bindings: WireBindings }>, { caller, services }: AppCall): Response {
	const origin = c.env.origin ?? services.publicUrl;
	const url = gatewayUrl(origin, caller, pathParameter(c, "gateway"), pathParameter(c, "provider"));
	return success({ url });
}

async function patchLog(c: Context, call: AppCall): Promise<Response> {
	const { fields, notes } = await readStored(LogPatchBody(), c.req.raw, call.services);
	await changeLog(logName(c, call), patchOf(fields), call.services);
	return success({}, notes({}));
}

/** The product's answer has no `messages`. */
const success = (result: object, messages: readonly FieldNote[] = []): Response =>
	Response.json({ success: true, result, ...(messages.length > 0 && { messages }) });

/** The universal address ends with a slash, as in the product. Throws 2008 for an unknown provider. */
export function gatewayUrl(
	origin: string | undefined,
	{ account }: Caller,
	gateway: string,
	provider: string,
): string {
	const isUniversal = provider === "universal";
	if (!isUniversal && !isKnownProvider(provider)) throw unknownProvider(provider);
	const parts = [account, gateway, isUniversal ? "" : provider].map(encodeURIComponent);
	return `${origin ?? UNREACHABLE_ORIGIN}/v1/${parts.join("/")}`;
}

interface GatewayRunOptions {
	/** The options of `optionsInBinding`. */
	gateway?: unknown;
	extraHeaders?: Record<string, string>;
	signal?: AbortSignal;
}

/** The object that `gateway(id)` returns over RPC. */
export class AiGateway extends RpcTarget {
	readonly #context: Omit<StepsRequest, "signal" | "options" | "source">;

	constructor(gateway: string, caller: Caller, services: AppServices) {
		super();
		this.#context = { gateway, caller, services };
	}

	/** `data`: one step or a list. Returns the response also if its status is a failure. */
	async run(data: unknown, options?: GatewayRunOptions | null): Promise<Response> {
		const { signal } = options ?? {};
		// The caller's signal belongs to the context of the call.
		if (signal) return this.#run(data, options ?? {}, signal);
		return inOwnContext((left) => this.#run(data, options ?? {}, left));
	}

	async #run(
		data: unknown,
		{ gateway, extraHeaders = {} }: GatewayRunOptions,
		signal: AbortSignal,
	): Promise<Response> {
		const { jsonDepth } = this.#context.services.limits;
		const hold = new BufferHold(this.#context.caller.account).releaseOn(signal);
		const read = (): Step[] => {
			boundDepth(data, jsonDepth);
			hold.growBy(data);
			return readSteps(data);
		};
		try {
			const headers = headersOf(extraHeaders);
			const request: StepsRequest = {
				...this.#context,
				signal,
				source: { type: "Universal" },
				options: mergedOptions(optionsInHeaders(headers), optionsInBinding(gateway)),
			};
			return await withTrace(traceOf(headers), () => runSteps(read, request));
		} finally {
			hold.release();
		}
	}

	getUrl(provider = "universal"): string {
		const { caller, gateway, services } = this.#context;
		try {
			return gatewayUrl(services.publicUrl, caller, gateway, provider);
		} catch (error) {
			throwAsRuntime(error);
		}
	}

	/** The time of the log is a `Date`. */
	async getLog(log: string): Promise<object> {
		const { caller, gateway, services } = this.#context;
		const details = await readLog({ caller, gateway, log }, services).catch(throwAsRuntime);
		return { ...logJson(details), created_at: new Date(timeOfId(details.row.id)) };
	}

	async patchLog(log: string, data: unknown): Promise<void> {
		const { caller, gateway, services } = this.#context;
		try {
			await changeLog({ caller, gateway, log }, patchOf(parseFields(LogPatchBody(), data, "body")), services);
		} catch (error) {
			throwAsRuntime(error);
		}
	}
}

/** Throws an error with the name and the message that the runtime's class uses. */
function throwAsRuntime(thrown: unknown): never {
	const error = toAiError(thrown);
	const name = error.key === "notFound" ? "AiGatewayLogNotFound" : "AiGatewayInternalError";
	throw Object.assign(toRpcError(error), { name, message: error.description });
}
