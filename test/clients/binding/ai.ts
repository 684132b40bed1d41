import { env } from "cloudflare:workers";

/** What the class has beyond its published type. */
interface Deprecated {
	lastRequestId: string | null;
	lastRequestHttpStatusCode: number | null;
	lastRequestInternalStatusCode: number | null;
	fetch: Fetcher["fetch"];
	getLogs(): string[];
}

/** The runtime's own object, with a gateway behind it that the plugin started. */
export const { AI } = env as unknown as { AI: Ai & Deprecated };
