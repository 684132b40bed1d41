/** A step in front of the engines. Types only. */
import type { Writer } from "../dialects/dialect.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { Routed } from "./plan.ts";
import type { Dispatched, InferenceRequest } from "./request.ts";
import type { Services } from "./services.ts";

export interface AnswerRequest {
	request: InferenceRequest;
	model: Model;
	routed: Routed | undefined;
	writer: Writer;
	call: TaskCall;
	/** Fires when the answer is no longer needed. */
	signal: AbortSignal;
}

export type AnswerStep = (
	request: AnswerRequest,
	services: Pick<Services, "flights" | "now" | "wait" | "waitUntil">,
	next: (request: AnswerRequest) => Promise<Dispatched>,
) => Promise<Dispatched>;
