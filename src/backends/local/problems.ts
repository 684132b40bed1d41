/** Problems of the local engine: it states a code and a sentence for the caller. */
import { AiError, type FailureKey } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import type { Target } from "../backend.ts";
import { readError } from "../transport/error-body.ts";
import type { Call, Refusal } from "../transport/upstream-failure.ts";

/** Codes of `scripts/local-engine/problem.ts` and of `engine/failure.ts`. */
const FAILURE_OF_CODE: Readonly<Record<string, FailureKey>> = {
	weights_missing: "noSuchModel",
	licence_not_accepted: "upstreamUnavailable",
	weights_downloading: "outOfCapacity",
	weights_unavailable: "upstreamUnavailable",
	no_room: "upstreamUnavailable",
	weights_unreadable: "upstreamUnavailable",
	invalid_input: "engineRefused",
	task_unsupported: "engineRefused",
	internal: "executionFailed",
	engine_unavailable: "upstreamUnavailable",
};

/** Problems that a second call a moment later would have too. Each would ask the hub, or load the model, once more. */
const LASTING: ReadonlySet<string> = new Set([
	"licence_not_accepted",
	"weights_unavailable",
	"no_room",
	"weights_unreadable",
	"internal",
]);

/** Problems of weights: later calls succeed as soon as the files are here. Until then an open circuit would say that the engine fails. */
const OF_WEIGHTS: ReadonlySet<string> = new Set([
	"licence_not_accepted",
	"weights_downloading",
	"weights_unavailable",
	"no_room",
]);

export const withProblems = (call: Call): Call => ({
	...call,
	refusal: (refusal) => problemOf(refusal, call.target) ?? call.refusal?.(refusal),
});

function problemOf({ status, body, retryAfter }: Refusal, { backend }: Target): AiError | undefined {
	const { code, type, message } = readError(body);
	const failure =
		type === "local_engine" && typeof code === "string" ? own(FAILURE_OF_CODE, code) : undefined;
	if (!failure) return undefined;
	return new AiError(failure, message, {
		retryable: code !== "invalid_input",
		...(LASTING.has(String(code)) && { isLasting: true }),
		...(OF_WEIGHTS.has(String(code)) && { isOfWorkingEngine: true }),
		retryAfter,
		upstream: { backend, status },
	});
}
