/**
 * The caller of an open websocket. Its token was verified at the handshake and may be revoked later, so each frame of the caller and each frame of
 * an answer needs a verification that is at most a second old. A socket whose token is refused is closed.
 */
import type { Ledgers } from "../accounts/admission.ts";
import { GatewayRequired, refuseElsewhere } from "../accounts/bound-gateway.ts";
import { hasPassed } from "../core/elapsed.ts";
import { type AiError, toAiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";

/** The reason of the close frame (`CLOSE.policyViolation`). */
export const TOKEN_REFUSED = "the token is not valid any more";
/** Answers of a socket go on for this time after a verification that failed. */
const FAILED_CHECK_MS = 1_000;

/** The caller of a frame. Throws `AiError`. */
export async function frameCaller({ account, credential }: Caller, ledgers: Ledgers): Promise<Caller> {
	const identity = await ledgers.of(account).verifyRecently(credential);
	return { account, credential, verified: true, identity };
}

/** Throws `AiError` if the caller may not use a socket that has no gateway. */
export async function requireFrame(caller: Caller, ledgers: Ledgers): Promise<void> {
	const { identity } = await frameCaller(caller, ledgers);
	const refused = refuseElsewhere(identity?.gateway, caller.credential);
	if (refused) throw new GatewayRequired(refused.gateway, refused.description);
}

/**
 * The check of the frames of all answers on one socket. It throws only if the caller may not use the socket any more. After another failure the
 * frames of a second pass without a check: an account that is busy would delay each of them, and an answer over HTTP would go on.
 */
export function answerFrameCheck(check: () => Promise<unknown>, now: () => number): () => Promise<void> {
	let failedAt: number | undefined;
	return async () => {
		if (!hasPassed(FAILED_CHECK_MS, failedAt, now())) return;
		try {
			await check();
		} catch (thrown) {
			const error = toAiError(thrown);
			if (isTokenRefused(error) || error.key === "gatewayRequired") throw error;
			failedAt = now();
		}
	};
}

/** Whether a frame fails because its token is refused, now and later. */
export const isTokenRefused = ({ key }: AiError): boolean => key === "authentication" || key === "forbidden";
