/** The robots.txt of a host (RFC 9309): which pages may be read, how slowly, and where the sitemaps are. */
import robotsParser from "robots-parser";
import { decodeUtf8 } from "../../../media/utf8.ts";
import { type PageAnswer, USER_AGENT } from "./fetch-page.ts";

/** RFC 9309, 2.5: at least 500 KiB. */
export const ROBOTS_BYTES = 512 * 1_024;

export interface Robots {
	allows(url: string): boolean;
	/** Between two pages. */
	delayMs: number;
	sitemaps: string[];
}

const OPEN: Robots = { allows: () => true, delayMs: 0, sitemaps: [] };

/** `undefined`: the server is not available, so nothing may be read now (RFC 9309, 2.3.1.4). */
export function robotsOf(url: string, answer: PageAnswer): Robots | undefined {
	if (answer.kind === "refused" && answer.retryAfterMs !== undefined) return undefined;
	// Without a file, everything may be read (2.3.1.3).
	if (answer.kind !== "page") return OPEN;
	const parsed = robotsParser(url, decodeUtf8(answer.bytes));
	const delay = parsed.getCrawlDelay(USER_AGENT) ?? 0;
	return {
		allows: (page) => parsed.isAllowed(page, USER_AGENT) ?? true,
		delayMs: Number.isFinite(delay) && delay > 0 ? delay * 1_000 : 0,
		sitemaps: parsed.getSitemaps(),
	};
}
