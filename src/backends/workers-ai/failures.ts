/**
 * Refusals of Workers AI, by their codes: https://developers.cloudflare.com/workers-ai/platform/errors. What is wrong
 * with the input keeps its code, so the caller sees the same wherever the model runs. What is wrong with the account
 * behind the backend is the operator's: the caller learns that this backend cannot serve, and another is asked.
 */
import * as z from "zod";
import { AiError, FAILURES, type FailureKey } from "../../core/errors.ts";
import { type Call, callerMessage, type Refusal } from "../transport/upstream-failure.ts";

/** By REST: `AiError: {name}: {description} ({request id})`. */
const Envelope = z.looseObject({
	errors: z.array(z.looseObject({ code: z.number(), message: z.string().default("") })).min(1),
});
/** By the binding. */
const WireFailure = z.looseObject({ internalCode: z.number(), description: z.string().default("") });
/** The last frame of a stream, as Ganglion has it. */
const ErrorFrame = z.looseObject({
	error: z.looseObject({ code: z.number(), message: z.string().default("") }),
});

interface Told {
	code: number;
	description: string;
}

/** What the backend's own account may not do, in words that go on where "The backend 'x'" has begun. */
const OPERATORS = new Map<number, string>([
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

/** Ways of the API's edge to say that there is no such model. */
const NO_SUCH_MODEL: ReadonlySet<number> = new Set([3042, 5007, 7000, 7002, 7003]);

/** Keys that this target alone has a reason for: an old model of it, a request of ours that it dropped. */
const OF_THIS_TARGET: ReadonlySet<FailureKey> = new Set(["deprecatedModel", "aborted", "deprecatedSdk"]);

const KEY_OF_CODE = new Map<number, FailureKey>();
for (const [key, { code, plane }] of Object.entries(FAILURES))
	if (plane === "inference" && !KEY_OF_CODE.has(code)) KEY_OF_CODE.set(code, key as FailureKey);

/** `undefined` where the code says nothing: then the status does. */
export function failureOfCode(call: Call, { status, body, retryAfter }: Refusal): AiError | undefined {
	const told = toldIn(body);
	if (!told) return undefined;
	const { target, model } = call;
	const name = `The backend '${target.backend}'`;
	const upstream = { backend: target.backend, ...(status !== undefined && { status }) };
	const ours = OPERATORS.get(told.code);
	if (ours)
		return new AiError(
			told.code === RATE_LIMITED ? "outOfCapacity" : "upstreamUnavailable",
			`${name} ${ours}`,
			{ upstream, retryAfter, retryable: true },
		);
	if (NO_SUCH_MODEL.has(told.code))
		return new AiError(
			"noSuchModel",
			`No such model ${model.id} or task: the backend '${target.backend}' has no model '${target.model}'`,
			{ upstream, retryable: true },
		);
	const key = KEY_OF_CODE.get(told.code);
	if (!key) return undefined;
	// Sentences about an engine's insides go nowhere.
	const description = FAILURES[key].status < 500 ? callerMessage(target, told.description) : undefined;
	return new AiError(key, description || undefined, {
		upstream,
		retryAfter,
		...(OF_THIS_TARGET.has(key) && { retryable: true }),
	});
}

function toldIn(body: unknown): Told | undefined {
	const wire = WireFailure.safeParse(body).data;
	if (wire) return { code: wire.internalCode, description: wire.description };
	const error = Envelope.safeParse(body).data?.errors[0] ?? ErrorFrame.safeParse(body).data?.error;
	return error && { code: error.code, description: descriptionIn(error.message) };
}

const REQUEST_ID = / \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)$/;
const PREFIX = /^AiError: /;
const NAMES: ReadonlySet<string> = new Set([
	"Ai",
	...Object.values(FAILURES).flatMap(({ name }) => name || []),
]);

/** Without the name, the request's id, and the names that are known: `Error: …` is part of what a 5006 says. */
function descriptionIn(message: string): string {
	const said = message.replace(REQUEST_ID, "").replace(PREFIX, "");
	const end = said.indexOf(": ");
	const name = said.slice(0, Math.max(0, end));
	return NAMES.has(name) ? said.slice(end + 2) : said;
}
