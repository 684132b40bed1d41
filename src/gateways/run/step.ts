/** A step of a request to a gateway, as the caller sent it, and the format in which it runs a model. Types only. */
import type { AiError } from "../../core/errors.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewayServices } from "../services.ts";

export interface Step {
	provider: string;
	/** A path relative to the provider's address, with its query. */
	endpoint: string;
	/** From the step's own headers and `config`. */
	options: GatewayOptions;
	/** The headers that `request-options.ts` reads. */
	headers: Headers;
	inputs: Inputs;
	/** For a request that is passed to the provider. */
	sent: SentRequest;
}

export interface SentRequest {
	method: string;
	/** Without the credential of this gateway. */
	headers: Headers;
	/** Absent: no body. */
	body?: Uint8Array<ArrayBuffer> | string;
}

/** One call of a step's model. */
interface StepRun {
	id: string;
	caller: Caller;
	signal: AbortSignal;
	observers: readonly ExchangeObserver[];
}

/** The format of a step's provider and endpoint. The surface that knows the provider's API makes it. */
export interface StepFormat {
	/** The endpoint is one that the pipeline answers. */
	isModelRoute: boolean;
	/** The model's id in the catalogue. Throws if the step names none. */
	modelId(services: GatewayServices): string;
	run(run: StepRun, services: GatewayServices): Promise<Response>;
	failure(error: AiError, requestId: string): Response;
}
