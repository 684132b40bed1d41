/**
 * Runs one request. The steps, in order: `prepare` (authorize, parse, fit, plan, estimate), admit, dispatch, meter, write.
 * `explain.ts` runs the same preparation without calling an engine. A step that fails throws an `AiError`, which the surface
 * renders.
 */
import { AiError, type FailureKey } from "../core/errors.ts";
import { asInputFailure } from "../dialects/invalid-input.ts";
import { measureInput } from "../tasks/traits.ts";
import { admit } from "./admit.ts";
import { answer } from "./answer.ts";
import { Exchange } from "./exchange.ts";
import { type Metered, meter } from "./meter.ts";
import { type EstimatedRun, prepare } from "./prepare.ts";
import type { InferenceRequest, Reply } from "./request.ts";
import type { PipelineServices } from "./services.ts";
import { write } from "./write.ts";

/** The reason of a signal: the surface needs no answer, because another part of the caller's request has failed. It is not charged. */
export class RequestGivenUp extends Error {}

/**
 * A room above the pipeline calls this like any surface: the request is admitted, metered and billed. Each call has an id of its own. A reply of
 * the kind `events` must be read or cancelled. Throws an `AiError`.
 *
 * @example
 * ```ts
 * // test/extending/room/ask.ts
 * async function opinion({ prompt, ...question }: Question, services: PipelineServices): Promise<unknown> {
 * 	const id = services.uuid();
 * 	const reply = await run(
 * 		{ ...question, id, dialect: loadDialect, inputs: { fields: { prompt } } },
 * 		services,
 * 	);
 * 	return reply.body.kind === "json" ? reply.body.value : undefined;
 * }
 * ```
 */
export async function run(request: InferenceRequest, services: PipelineServices): Promise<Reply> {
	const exchange = new Exchange(request, services);
	const { signal } = request;
	let prepared: EstimatedRun | undefined;
	let metered: Metered | undefined;
	try {
		prepared = await prepare(request, services);
		const call = await admit(exchange, request, prepared, services);
		const { inputFailure } = prepared;
		const answering = answer(exchange, { ...prepared, request, call, signal }, services);
		const answered = await (inputFailure ? answering.catch(inDialect(exchange, inputFailure)) : answering);
		metered = meter(exchange, answered, prepared.model, services);
		if (exchange.state !== "ended") cancelOnAbort(signal, metered, exchange.ended);
		return write(request, prepared, { answered, metered }, services);
	} catch (thrown) {
		const charged = signal.reason instanceof RequestGivenUp ? undefined : prepared;
		const failure = exchange.fail(thrown, charged && (() => measureInput(charged.call, charged.model)));
		// If the writer failed, the answer has no reader.
		metered?.cancel(failure);
		throw failure;
	}
}

const INPUT_FAILURES: ReadonlySet<FailureKey> = new Set(["badInput", "invalidInput"]);

/** Throws what an engine says about the inputs as the route's dialect does. The observers have received it. */
const inDialect =
	(exchange: Exchange, inputFailure: FailureKey) =>
	(thrown: unknown): never => {
		if (!(thrown instanceof AiError && INPUT_FAILURES.has(thrown.key))) throw thrown;
		throw exchange.markReported(asInputFailure(inputFailure, thrown));
	};

/** If the caller disconnects before the runtime reads the reply, the runtime drops it, and does not cancel its stream. */
function cancelOnAbort(signal: AbortSignal, metered: Metered, ended: Promise<void>): void {
	const cancel = () => metered.cancel(new AiError("aborted"));
	if (signal.aborted) cancel();
	else signal.addEventListener("abort", cancel);
	// The caller may use the signal for many requests.
	void ended.then(() => signal.removeEventListener("abort", cancel));
}
