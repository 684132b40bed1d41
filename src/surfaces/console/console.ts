/**
 * `/console`: the web console, from the static files of the deployment (`ASSETS`). It is a client of the public REST API
 * and has no rights of its own, so its files need no credential.
 *
 * The runtimes serve the files differently: Cloudflare's binding sets a content type, a folder of workerd does not. The
 * Worker sets all headers itself, so that the policy below is the same everywhere.
 */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";

export const CONSOLE_PATH = "/console";
const PAGE = "index.html";
/** Matches the files of the build. They are all in one folder; other paths are pages of the console. */
const FILE = /^[\w.-]+\.(?<extension>css|html|js|svg|txt|woff2)$/;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
	css: "text/css; charset=utf-8",
	html: "text/html; charset=utf-8",
	js: "text/javascript; charset=utf-8",
	svg: "image/svg+xml",
	txt: "text/plain; charset=utf-8",
	woff2: "font/woff2",
};
const COMPRESSED: ReadonlySet<string> = new Set(["css", "html", "js", "svg", "txt"]);

/**
 * Only this origin, no inline script, no frame around the page. Images and audio of the playground are made in the page
 * (`data:`, `blob:`).
 */
const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"font-src 'self'",
	"connect-src 'self'",
	"img-src 'self' data: blob:",
	"media-src 'self' data: blob:",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
].join("; ");

const SECURITY = {
	"content-security-policy": POLICY,
	"cross-origin-opener-policy": "same-origin",
	"cross-origin-resource-policy": "same-origin",
	"permissions-policy": "camera=(), geolocation=(), microphone=(self)",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
};

/** Matches names that contain a hash of the content. */
const HASHED = /-[\w-]{8}\.\w+$/;

const cacheControl = (file: string): string =>
	HASHED.test(file) ? "public, max-age=31536000, immutable" : "no-cache";

export const consoleRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [{ path: CONSOLE_PATH }], tag: "Operations" },
	[
		{
			method: "GET",
			path: "",
			summary: "The web console",
			permission: "none",
			output: { type: "text/html" },
			handler: (c, call) => serveFile(c, call, PAGE),
		},
		{
			method: "GET",
			path: "/:path{.+}",
			summary: "A file or a page of the web console",
			permission: "none",
			output: { type: "text/html" },
			handler: (c, call) => {
				const path = c.req.param("path") ?? "";
				return serveFile(c, call, FILE.test(path) ? path : PAGE);
			},
		},
	],
);

async function serveFile(c: Context, { services: { assets } }: AppCall, file: string): Promise<Response> {
	if (!assets)
		throw new AiError("notFound", "This deployment has no console: its configuration sets no assets");
	const found = await assets(file);
	if (!found.ok) {
		await found.body?.cancel();
		throw new AiError("notFound");
	}
	const extension = FILE.exec(file)?.groups?.extension ?? "";
	const compressed = COMPRESSED.has(extension) && /\bgzip\b/.test(acceptedEncodings(c));
	return new Response(found.body, {
		headers: {
			...SECURITY,
			"content-type": own(MEDIA_TYPES, extension) ?? "application/octet-stream",
			"cache-control": cacheControl(file),
			vary: "accept-encoding",
			// The runtime compresses the body.
			...(compressed && { "content-encoding": "gzip" }),
		},
	});
}

/** Cloudflare and `wrangler dev` replace the header, and have the client's own in `cf`. */
const acceptedEncodings = ({ req }: Context): string =>
	String(req.raw.cf?.clientAcceptEncoding ?? req.header("accept-encoding") ?? "");

/** Whether a person has opened the address: browsers accept HTML, command-line clients and SDKs accept anything. */
export const isBrowser = ({ req }: Context): boolean => /\btext\/html\b/i.test(req.header("accept") ?? "");
