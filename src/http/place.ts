/** The wait of a request for a place among those of its account (`core/running-requests.ts`), before anything of it is read. */
import { accountOfToken } from "../accounts/token-text.ts";
import type { RunningRequests } from "../core/running-requests.ts";

const ACCOUNT_IN_PATH = /^\/(?:client\/v4\/accounts|v1)\/([\w-]{1,64})\//;
const CREDENTIAL_HEADERS = [
	"cf-aig-authorization",
	"authorization",
	"x-api-key",
	"x-goog-api-key",
	"api-key",
];
const BEARER = /^Bearer\s+/i;

interface PlaceServices {
	runningRequests: RunningRequests;
	wait(milliseconds: number): Promise<void>;
}

/** `undefined`: the request need not wait. A request that has no place after the wait is refused when it is counted. */
export function waitForPlace(
	request: Request,
	{ runningRequests, wait }: PlaceServices,
): Promise<void> | undefined {
	if (runningRequests.isQuiet) return undefined;
	const account = namedAccount(request);
	return account === undefined ? undefined : runningRequests.waitForPlace(account, wait);
}

/** The account that the token or the path names. Nothing is verified. */
function namedAccount({ headers, url }: Request): string | undefined {
	const credential = CREDENTIAL_HEADERS.map((name) => headers.get(name)).find((text) => text !== null);
	const account = accountOfToken(credential?.replace(BEARER, "") ?? "");
	return account ?? ACCOUNT_IN_PATH.exec(new URL(url).pathname)?.[1];
}
