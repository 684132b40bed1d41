/**
 * Runs one request. The steps, in order: `prepare` (authorize, plan, parse, fit, estimate), admit, dispatch, meter, write.
 * `explain.ts` runs the same preparation without calling an engine. A step that fails throws an `AiError`, which the surface
 * renders.
 */
import { AiError } from "../core/errors.ts";
import { admit } from "./admit.ts";
import { answer } from "./answer.ts";
import { Exchange } from "./exchange.ts";
import { type Metered, meter } from "./meter.ts";
import { prepare } from "./prepare.ts";
import type { InferenceRequest, Reply } from "./request.ts";
import type { Services } from "./services.ts";
import { dispatchSpeculatively } from "./speculative-dispatch.ts";
import { write } from "./write.ts";

export async function run(request: InferenceRequest, services: Services): Promise<Reply> {
	const exchange = new Exchange(request, services);
	let metered: Metered | undefined;
	try {
		const prepared = await prepare(request, services);
		const admission = admit(exchange, request, prepared, services);
		const answered = await dispatchSpeculatively(await admission, request.signal, (call, signal) =>
			answer(exchange, { ...prepared, request, call, signal }, services),
		);
		metered = await meter(exchange, answered, prepared.model, services);
		// The runtime drops the reply of a caller who has disconnected, without reading or cancelling its stream.
		if (request.signal.aborted && exchange.state !== "ended") throw new AiError("aborted");
		return write(request, { ...prepared, ...answered, metered }, services);
	} catch (thrown) {
		// If the writer failed, the answer has no reader.
		metered?.abandon();
		throw exchange.fail(thrown);
	}
}
