/** What authentication has to know of the Gemini-shaped routes: their paths, and where the credential is. */
import type { HonoRequest } from "hono";

const PATH = /^(?:\/client\/v4\/accounts\/[^/]+\/ai)?\/v1beta(?:\/|$)/;
export const isGeminiPath = (path: string): boolean => PATH.test(path);

export const geminiKey = (request: HonoRequest): string | undefined =>
	request.header("x-goog-api-key") ?? request.query("key");
