/**
 * Errors of Workers AI by their codes: https://developers.cloudflare.com/workers-ai/platform/errors. Errors about the
 * input keep their code, so that the caller gets the same error wherever the model runs. Errors about the backend's
 * account are the operator's: the caller gets a general error, and another target is tried.
 */
import * as z from "zod";
import { AiError, FAILURES, type FailureKey } from "../../core/errors.ts";
import { descriptionIn } from "../transport/product-message.ts";
import { type Call, callerMessage, type Refusal } from "../transport/upstream-failure.ts";

const SentError = z.looseObject({ code: z.number(), message: z.string().default("") });
/** The error over REST: `AiError: {name}: {description} ({request id})`. */
const Envelope = z.looseObject({ errors: z.array(SentError).min(1) });
/** The error over the binding. That of inputs for a provider's model (7003) has the field that is wrong only in `error`. */
const WireFailure = z.looseObject({
	internalCode: z.number(),
	description: z.string().default(""),
	error: z.array(SentError).optional().catch(undefined),
});
/** The last frame of Ganglion's streams. */
const ErrorFrame = z.looseObject({ error: SentError });

interface SentFailure {
	code: number;
	description: string;
}

/** Errors about the backend's account. The message is "The backend 'x'" and this text. */
const ACCOUNT_PROBLEMS = new Map<number, string>([
	[3021, "is at the rate limit of its account"],
	[3023, "has an account that is blocked"],
	[3036, "has used up the daily neurons of its account"],
	[4006, "has used up the daily neurons of its account"],
	[3041, "has an account that may not use this model"],
	[5016, "has an account that has not agreed to this model's terms"],
	[5018, "has an account that may not use this model"],
	[5035, "has an account without the plan that this model needs"],
	[1031, "refused the gateway's credentials"],
	[9109, "refused the gateway's credentials"],
	[10000, "refused the gateway's credentials"],
]);
const RATE_LIMITED = 3021;

/** 7003 has two meanings: inputs that a provider's model does not take, with this beginning and the field, and an unknown model. */
const USER_INPUT_ERROR = /^(?:Model execution failed \(User Input Error\)|User Input Error)(?:: |$)/;
/** Codes of the API's edge for an unknown model. */
const NO_SUCH_MODEL: ReadonlySet<number> = new Set([3042, 5007, 7000, 7002, 7003]);

/** Keys with a cause in this target: an old model, or a request that it dropped. */
const TARGET_SPECIFIC: ReadonlySet<FailureKey> = new Set(["deprecatedModel", "aborted", "deprecatedSdk"]);

const KEY_OF_CODE = new Map<number, FailureKey>();
for (const [key, { code, plane }] of Object.entries(FAILURES))
	if (plane === "inference" && !KEY_OF_CODE.has(code)) KEY_OF_CODE.set(code, key as FailureKey);

/** `undefined` for an unknown code: the status decides. */
export function failureOfCode(call: Call, { status, body, retryAfter }: Refusal): AiError | undefined {
	const sent = failureIn(body);
	if (!sent) return undefined;
	const { target, model } = call;
	const name = `The backend '${target.backend}'`;
	const upstream = { backend: target.backend, ...(status !== undefined && { status }) };
	const accountProblem = ACCOUNT_PROBLEMS.get(sent.code);
	if (accountProblem)
		return new AiError(
			sent.code === RATE_LIMITED ? "outOfCapacity" : "upstreamUnavailable",
			`${name} ${accountProblem}`,
			{ upstream, retryAfter, retryable: true },
		);
	// The route decides the code (`inputFailure` of its dialect).
	if (
		sent.code === FAILURES.userInputError.code &&
		status !== 404 &&
		USER_INPUT_ERROR.test(sent.description)
	) {
		const sentence = callerMessage(target, sent.description.replace(USER_INPUT_ERROR, ""));
		return new AiError("invalidInput", sentence ? `Invalid input: ${sentence}` : undefined, { upstream });
	}
	if (NO_SUCH_MODEL.has(sent.code))
		return new AiError(
			"noSuchModel",
			`No such model ${model.id} or task: the backend '${target.backend}' has no model '${target.model}'`,
			{ upstream, retryable: true },
		);
	const key = KEY_OF_CODE.get(sent.code);
	if (!key) return undefined;
	// Messages about engine internals are dropped.
	const description = FAILURES[key].status < 500 ? callerMessage(target, sent.description) : undefined;
	return new AiError(key, description || undefined, {
		upstream,
		retryAfter,
		...(TARGET_SPECIFIC.has(key) && { retryable: true }),
	});
}

function failureIn(body: unknown): SentFailure | undefined {
	const wire = WireFailure.safeParse(body).data;
	if (wire) {
		const { internalCode: code, description } = wire;
		const detail = code === FAILURES.userInputError.code ? wire.error?.[0]?.message : undefined;
		return { code, description: detail || description };
	}
	const error = Envelope.safeParse(body).data?.errors[0] ?? ErrorFrame.safeParse(body).data?.error;
	return error && { code: error.code, description: descriptionIn(error.message) };
}
