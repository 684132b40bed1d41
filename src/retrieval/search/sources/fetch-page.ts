/** Calls one page of a website. A redirect is returned: its target is another page, with its own checks. */
import { endedAfter } from "../../../core/with-timeout.ts";
import { boundedBytes, unread } from "../../../outbound/bounded-text.ts";
import { callOut } from "../../../outbound/call-out.ts";
import { PAGE_CALL } from "../../../outbound/limits.ts";
import { retryAfterSeconds } from "../../../outbound/retry-after.ts";

/** Site owners find it in their logs, and address it in robots.txt. */
export const USER_AGENT = "GanglionSearch";

export interface PageRequest {
	url: string;
	maxBytes: number;
	/** Of the version that is stored. */
	etag?: string | undefined;
	lastModified?: string | undefined;
}

export interface FetchedPage {
	bytes: Uint8Array;
	/** As it was sent. Empty: none. */
	contentType: string;
	etag?: string | undefined;
	lastModified?: string | undefined;
	/** The header `X-Robots-Tag`. */
	robots: string;
}

export type PageAnswer =
	| ({ kind: "page" } & FetchedPage)
	| { kind: "unchanged" }
	| { kind: "redirect"; location: string }
	| { kind: "gone" }
	/** `retryAfterMs`: another try may succeed. Absent: it has the same end. */
	| { kind: "refused"; reason: string; retryAfterMs?: number };

interface PageServices {
	fetch: typeof fetch;
	signal: AbortSignal;
	now(): number;
}

const GONE = new Set([404, 410]);
const BUSY = new Set([408, 425, 429]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 3_600_000;

/** Rejects only if `signal` fires. */
export async function fetchPage(
	{ etag, lastModified, maxBytes, url }: PageRequest,
	{ fetch, now, signal }: PageServices,
): Promise<PageAnswer> {
	const headers = {
		"user-agent": USER_AGENT,
		accept: "text/html,application/xhtml+xml,text/markdown,text/plain,application/pdf,*/*;q=0.1",
		...(etag !== undefined && { "if-none-match": etag }),
		...(lastModified !== undefined && { "if-modified-since": lastModified }),
	};
	const late = new Error(`the server did not answer within ${PAGE_CALL.totalMs / 1_000} s`);
	try {
		return await endedAfter(
			PAGE_CALL.totalMs,
			() => late,
			async (limit) => {
				const limited = AbortSignal.any([signal, limit]);
				const response = await callOut({ fetch, url, method: "GET", headers, signal: limited });
				return answerOf(response, maxBytes, now);
			},
		);
	} catch (error) {
		signal.throwIfAborted();
		const reason = error === late ? late.message : "the server cannot be reached";
		return { kind: "refused", reason, retryAfterMs: RETRY_MS };
	}
}

async function answerOf(response: Response, maxBytes: number, now: () => number): Promise<PageAnswer> {
	const { status } = response;
	if (status === 200) return pageOf(response, maxBytes);
	await unread(response.body);
	if (status === 304) return { kind: "unchanged" };
	const location = response.headers.get("location");
	if (REDIRECTS.has(status) && location) return { kind: "redirect", location };
	if (GONE.has(status)) return { kind: "gone" };
	const reason = `the server answered with ${status}`;
	if (status < 500 && !BUSY.has(status)) return { kind: "refused", reason };
	return { kind: "refused", reason, retryAfterMs: retryAfterMs(response.headers, now()) };
}

async function pageOf(response: Response, maxBytes: number): Promise<PageAnswer> {
	const { headers } = response;
	const bytes = await boundedBytes(response.body, maxBytes);
	if (!bytes) return { kind: "refused", reason: `over_size: the page has more than ${maxBytes} bytes` };
	return {
		...{ kind: "page", bytes, contentType: headers.get("content-type") ?? "" },
		robots: headers.get("x-robots-tag") ?? "",
		etag: headers.get("etag") ?? undefined,
		lastModified: headers.get("last-modified") ?? undefined,
	};
}

function retryAfterMs(headers: Headers, now: number): number {
	const milliseconds = (retryAfterSeconds(headers, now) ?? 0) * 1_000;
	return Math.min(Math.max(milliseconds, RETRY_MS), MAX_RETRY_MS);
}
