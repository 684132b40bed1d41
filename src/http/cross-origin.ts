/**
 * Cross-origin requests of web pages (`CORS`). A preflight has no credential, so it is answered before authentication.
 * No cookies: `Access-Control-Allow-Credentials` is not sent, and a page sends its token as `Authorization`.
 */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";

/** `CORS` */
export interface CorsSetting {
	/** Origins like `https://app.example.com`, or `*` for all. */
	origins: readonly string[];
}

/** Headers of replies that a page may read, in addition to those that CORS always allows. */
const EXPOSED = [
	"cf-ai-neurons",
	"cf-ai-req-id",
	"retry-after",
	"x-ganglion-attempts",
	"x-ganglion-backend",
	"x-ganglion-dropped",
	"x-ganglion-scores",
	"x-ganglion-weights",
	"x-ratelimit-limit-requests",
	"x-ratelimit-remaining-requests",
	"x-ratelimit-reset-requests",
];
const PREFLIGHT_SECONDS = 600;

export const crossOrigin = ({ origins }: CorsSetting): MiddlewareHandler =>
	cors({
		origin: origins.includes("*") ? "*" : [...origins],
		allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
		exposeHeaders: EXPOSED,
		maxAge: PREFLIGHT_SECONDS,
	});
