/** What a provider was asked, and what it answers. */
import type { IncomingHttpHeaders } from "node:http";

export interface Asked {
	path: string;
	query: string;
	headers: IncomingHttpHeaders;
	body: unknown;
}

export type Said = { status?: number; json: object } | { events: string[] };
