/** What a caller may be told of a failure: nothing before its account has vouched for it. */
import { type AiError, toAiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";

/** What the account answers about a caller, or that it cannot be reached. It refuses for a rate after it has verified the token. */
const ABOUT_THE_CALLER: ReadonlySet<string> = new Set([
	"authentication",
	"forbidden",
	"ledgerUnavailable",
	"rateLimited",
]);

/**
 * Admission asks the account about the credential, after the request has been read. A request that fails before that
 * is checked here, so that who has no token learns nothing but that.
 */
export async function tellable(
	thrown: unknown,
	caller: Caller | undefined,
	{ ledgers }: Pick<Services, "ledgers">,
): Promise<AiError> {
	const error = toAiError(thrown);
	if (!caller || caller.known || ABOUT_THE_CALLER.has(error.key)) return error;
	try {
		await ledgers.of(caller.account).verify(caller.credential, "run");
		return error;
	} catch (refused) {
		return toAiError(refused);
	}
}
