/** `run` over RPC: the value, stream or response of a model. The work has a context of its own, which knows when the caller leaves. */
import { GatewayRequired } from "../../accounts/bound-gateway.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { loadDialect } from "../../dialects/index.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { optionsOfRun } from "../../gateways/options.ts";
import {
	defaultGateway,
	gatewayOfOptions,
	type RunModel,
	withoutGateway,
} from "../../gateways/run/model-in-gateway.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import { inOwnContext } from "../../http/own-context.ts";
import { checkTags, headersIn, inferenceRequest, refuseQueue } from "../../http/request-options.ts";
import { traceOf, withTrace } from "../../outbound/passed-headers.ts";
import type { Caller, InferenceRequest, Inputs, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import { wireFailure } from "../binding/run-failure.ts";
import { headersOf } from "../gateway/step.ts";
import { endpointRun, inEndpointFormat } from "../openai/run-endpoint.ts";
import type { AppServices } from "../services.ts";
import { cancelStreams, hasStream, readInputs } from "./inputs.ts";
import { queuedRun } from "./queued.ts";
import { runInGatewayOf } from "./run-in-gateway.ts";
import { unwrappedResponse } from "./unwrapped-response.ts";

/** Third argument of `run`. Other options are for parts that this gateway does not have, and are ignored. */
export interface RpcRunOptions {
	returnRawResponse?: boolean;
	signal?: AbortSignal;
	queueRequest?: boolean;
	websocket?: boolean;
	/** `{id, …}`: the options of `optionsOfRun`. */
	gateway?: unknown;
	/** Only the headers of `request-options.ts` are used, `traceparent`, and in a gateway the `cf-aig-*` headers of its options. */
	extraHeaders?: Record<string, unknown>;
	/** `inEndpointFormat` */
	openaiEndpoint?: unknown;
}

interface SentRun {
	model: string;
	inputs: Record<string, unknown>;
	options: RpcRunOptions;
	/** Throws if the binding has no account. */
	caller(): Caller;
}

interface HeldRun extends Omit<SentRun, "caller"> {
	id: string;
	caller: Caller;
	hold: BufferHold;
	read(): Promise<Inputs>;
}

export async function runOverRpc(sent: SentRun, services: AppServices): Promise<unknown> {
	const { inputs, options } = sent;
	const id = services.uuid();
	try {
		const caller = sent.caller();
		const hold = new BufferHold(caller.account);
		const read = (): Promise<Inputs> => readInputs(inputs, { hold, limits: services.limits });
		const held = { ...sent, id, caller, hold, read };
		// The caller's signal and streams belong to the context of the call.
		if (options.signal) return await answerHeld(held, options.signal, services);
		if (!hasStream(inputs)) return await inOwnContext((left) => answerHeld(held, left, services));
		refuseUnavailable(options);
		const contents = read();
		contents.catch(() => {});
		return await inOwnContext((left) => answerHeld({ ...held, read: () => contents }, left, services));
	} catch (thrown) {
		// The work has logged its failures.
		if (!(thrown instanceof AiError)) throw thrown;
		return failed(thrown, { id, options }, services);
	} finally {
		cancelStreams(inputs);
	}
}

function failed(
	thrown: unknown,
	{ id, options }: Pick<HeldRun, "id" | "options">,
	services: AppServices,
): Response {
	const error = toAiError(thrown);
	services.log(error, id);
	if (options.returnRawResponse) return wireFailure(error, id);
	throw toRpcError(error);
}

async function answerHeld(held: HeldRun, signal: AbortSignal, services: AppServices): Promise<unknown> {
	const { hold, options } = held;
	hold.releaseOn(signal);
	let answer: Response | { value: unknown };
	try {
		const trace = traceOf(headersOf(options.extraHeaders ?? {}));
		answer = await withTrace(trace, () => answerOf(held, signal, services));
	} catch (thrown) {
		return failed(thrown, held, services);
	} finally {
		hold.release();
	}
	if (!(answer instanceof Response)) return answer.value;
	return options.returnRawResponse ? answer : unwrappedResponse(answer);
}

/** The response, or the value of a model that ran in no gateway. */
async function answerOf(
	{ id, caller, model, inputs, options, read: readSent }: HeldRun,
	signal: AbortSignal,
	services: AppServices,
): Promise<Response | { value: unknown }> {
	if (isRecord(inputs) && ("requests" in inputs || "request_id" in inputs)) {
		const queued = await queuedRun({ id, caller, services }, { model, inputs, options });
		if (queued) return queued;
	}
	const hasEndpoint = options.openaiEndpoint !== undefined && options.openaiEndpoint !== null;
	const read = async (): Promise<InferenceRequest> => {
		refuseUnavailable(options);
		checkTags(options);
		const request = { model, dialect: loadDialect, inputs: await readSent() };
		return inferenceRequest({
			...{ id, caller, signal, options },
			...(hasEndpoint ? inEndpointFormat(request, options) : request),
			headers: headersIn(options.extraHeaders),
		});
	};
	const named = gatewayOfOptions(options);
	let otherwise = defaultGateway(model);
	let request: InferenceRequest | undefined;
	if (named === undefined && otherwise === undefined) {
		request = await read();
		const reply = await runOutside(hasEndpoint ? endpointRun(model, options) : run, request, services);
		if (!(reply instanceof GatewayRequired))
			return options.returnRawResponse ? replyResponse(reply, id, WRAPS.bare) : { value: unwrapped(reply) };
		otherwise = reply.gateway.id;
	}
	const call = { id, caller, model, signal, read: async () => request ?? read(), options };
	const gateway = {
		...{ named, otherwise },
		options: () => optionsOfRun(options.gateway, headersOf(options.extraHeaders ?? {})),
	};
	return runInGatewayOf(call, gateway, services);
}

/** Runs a request that names no gateway. Returns the refusal if its account binds one. */
async function runOutside(
	runModel: RunModel,
	request: InferenceRequest,
	services: AppServices,
): Promise<Reply | GatewayRequired> {
	try {
		return await runModel({ ...request, caller: withoutGateway(request.caller) }, services);
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

function refuseUnavailable({ queueRequest, websocket }: RpcRunOptions): void {
	if (queueRequest) refuseQueue();
	// The runtime cannot pass a Response with a websocket over RPC.
	if (websocket)
		throw invalidInput(
			"a websocket does not cross RPC; use the runtime's own AI binding, or fetch of this one",
		);
}
