/**
 * Searches all that a step sends, and the texts of its answer, for data that must not leave: the profiles of the gateway's `dlp` setting. A
 * finding is reported, and refused if a policy blocks it. An answer that is checked is buffered, also a stream. Media in an answer have no
 * texts, so they are sent at once. The header `cf-aig-dlp` has the findings; the surface adds it to a refusal.
 */
import { AiError } from "../../core/errors.ts";
import {
	DLP_HEADER,
	type DlpCheck,
	type DlpPolicy,
	findingsOf,
	merged,
	policiesOf,
} from "../dlp/findings.ts";
import type { GatewayMiddleware, GatewayRequest } from "../request.ts";
import { checkedResponse } from "../scanning/buffered.ts";
import { sentTexts } from "../scanning/sent-texts.ts";
import { mayHaveTexts, responseTexts } from "../scanning/texts.ts";

export const dlpMiddleware: GatewayMiddleware = async (request, next) => {
	const policies = policiesOf(request.settings);
	const checks = (check: DlpCheck): boolean => policies.some((policy) => policy.check.includes(check));
	if (policies.length === 0) return next(request);
	if (checks("REQUEST")) await scanRequest(request, policies);
	const response = await next(request);
	const contentType = response.headers.get("content-type") ?? "";
	if (!checks("RESPONSE") || !response.ok || !response.body || !mayHaveTexts(contentType))
		return withReport(response, request);
	const checked = await checkedResponse(response, request, (bytes) =>
		scan(responseTexts(contentType, bytes), { check: "RESPONSE", policies, request }),
	);
	if (checked) return withReport(checked, request);
	// An answer that cannot be checked must not pass a policy that blocks.
	if (isBlocking(policies, "RESPONSE")) throw new AiError("responseLeak");
	throw new AiError("requestTooLarge", "The answer is too large for data-loss prevention");
};

const UNREADABLE =
	"The request has a part that data-loss prevention cannot read: a form that is broken, or a character set that is unknown";

async function scanRequest(request: GatewayRequest, policies: readonly DlpPolicy[]): Promise<void> {
	const { texts, isUnreadable } = await sentTexts(request.step);
	scan(texts, { check: "REQUEST", policies, request });
	// A request that cannot be checked must not pass a policy that blocks.
	if (isUnreadable && isBlocking(policies, "REQUEST")) throw new AiError("requestLeak", UNREADABLE);
}

const isBlocking = (policies: readonly DlpPolicy[], checked: DlpCheck): boolean =>
	policies.some(({ action, check }) => action === "BLOCK" && check.includes(checked));

/** The header of a flagged answer is cached with it. */
function withReport(response: Response, { exchange }: GatewayRequest): Response {
	const { dlp } = exchange.facts;
	// A socket has no copy.
	if (!dlp || !response.ok) return response;
	const reported = new Response(response.body, response);
	reported.headers.set(DLP_HEADER, JSON.stringify(dlp));
	return reported;
}

interface ScanContext {
	check: DlpCheck;
	policies: readonly DlpPolicy[];
	request: GatewayRequest;
}

/** Throws if a policy blocks a finding. */
function scan(texts: readonly string[], { check, policies, request: { exchange } }: ScanContext): void {
	const report = findingsOf(texts, check, policies);
	if (!report) return;
	exchange.report({ dlp: merged(exchange.facts.dlp, report) });
	if (report.action === "BLOCK") throw new AiError(check === "REQUEST" ? "requestLeak" : "responseLeak");
}
