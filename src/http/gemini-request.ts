/** What authentication has to know of the Gemini-shaped routes: their paths, and where the credential is. */
import type { HonoRequest } from "hono";

/** Gemini's own routes, and those of AI Gateway's provider for it. */
const PATH =
	/^(?:(?:\/client\/v4\/accounts\/[^/]+\/ai)?\/v1beta(?:\/|$)|\/v1\/[^/]+\/[^/]+\/google-ai-studio\/)/;
export const isGeminiPath = (path: string): boolean => PATH.test(path);

export const geminiKey = (request: HonoRequest): string | undefined =>
	request.header("x-goog-api-key") ?? request.query("key");
