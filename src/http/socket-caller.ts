/**
 * The caller of an open websocket. Its token was verified at the handshake and may be revoked later, so each frame of the caller and each frame of
 * an answer needs a verification that is at most a second old. A socket whose token is refused is closed.
 */
import type { Ledgers } from "../accounts/admission.ts";
import { GatewayRequired, refuseElsewhere } from "../accounts/bound-gateway.ts";
import { type AiError, toAiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";

/** The reason of the close frame (`CLOSE.policyViolation`). */
export const TOKEN_REFUSED = "the token is not valid any more";

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
 * The check of a frame of an answer. Throws only if the caller may not use the socket any more. Another failure lets the frame pass: it may be that
 * of a busy account, and an answer over HTTP would go on.
 */
export async function requireAnswerFrame(check: Promise<unknown>): Promise<void> {
	try {
		await check;
	} catch (thrown) {
		const error = toAiError(thrown);
		if (isTokenRefused(error) || error.key === "gatewayRequired") throw error;
	}
}

/** Whether a frame fails because its token is refused, now and later. */
export const isTokenRefused = ({ key }: AiError): boolean => key === "authentication" || key === "forbidden";
