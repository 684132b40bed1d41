/** A call to answer, and a step in front of the engines. Types only. */
import type { Model } from "../models/model.ts";
import type { ResolvedRoute } from "./plan.ts";
import type { Parsed } from "./prepare.ts";
import type { EngineAnswer, InferenceRequest } from "./request.ts";
import type { PipelineServices } from "./services.ts";

export interface AnswerRequest extends Parsed {
	request: InferenceRequest;
	model: Model;
	routed: ResolvedRoute | undefined;
	/** Fires when the answer is no longer needed. */
	signal: AbortSignal;
}

export type AnswerStep = (
	request: AnswerRequest,
	services: Pick<PipelineServices, "flights" | "now" | "wait" | "waitUntil">,
	next: (request: AnswerRequest) => Promise<EngineAnswer>,
) => Promise<EngineAnswer>;
