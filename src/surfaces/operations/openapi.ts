/**
 * `GET /openapi.json` and `GET /docs`: the OpenAPI document of all routes, as JSON and as a page. Both are static files of the deployment
 * (`assets`), which scripts/api-files.ts writes. The Worker only adds its address.
 */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { answer } from "../answer.ts";
import { type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";

/** A placeholder in the files for the gateway's address, which only a request shows. */
export const ADDRESS = "{address}";
/** The console serves no files with these names: `FILE` in src/surfaces/console/console.ts. */
export const DOCUMENT_FILE = "openapi.json";
export const PAGE_FILE = "docs.htm";
/** The page has a style sheet, and nothing else. */
const PAGE_HEADERS = {
	"content-type": "text/html; charset=utf-8",
	"content-security-policy":
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
};

/**
 * The file with the address of the gateway, as bytes. The text, and the bytes for the last address, are cached, because a request
 * without a token must cost little CPU.
 */
function cachedBytes(file: string) {
	let text: string | undefined;
	let last: { address: string; bytes: Uint8Array } | undefined;
	return async (c: Context, services: AppServices): Promise<Uint8Array> => {
		text ??= await readText(file, services);
		const address = services.publicUrl ?? new URL(c.req.url).origin;
		if (last?.address !== address)
			last = { address, bytes: new TextEncoder().encode(text.replace(ADDRESS, () => address)) };
		return last.bytes;
	};
}

async function readText(file: string, { assets }: AppServices): Promise<string> {
	if (!assets)
		throw new AiError(
			"notFound",
			"This deployment has no OpenAPI document: its configuration sets no assets",
		);
	const response = await assets(file);
	const text = await response.text();
	// The assets may answer with another page instead of 404.
	if (!response.ok || !text.includes(ADDRESS))
		throw new AiError("notFound", `The file ${file} of this deployment cannot be read`);
	return text;
}

/** Each call creates routes with their own caches. */
export const openApiRoutes = (): readonly AppRoute[] => {
	const text = cachedBytes(DOCUMENT_FILE);
	const page = cachedBytes(PAGE_FILE);
	return defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
		{
			method: "GET",
			path: "/openapi.json",
			summary: "Describes all routes as an OpenAPI document",
			permission: "none",
			output: answer("openApiAnswer"),
			handler: async (c, { services }) =>
				new Response(await text(c, services), { headers: { "content-type": "application/json" } }),
		},
		{
			method: "GET",
			path: "/docs",
			summary: "Shows the OpenAPI document to people",
			permission: "none",
			output: { type: "text/html" },
			handler: async (c, { services }) => new Response(await page(c, services), { headers: PAGE_HEADERS }),
		},
	]);
};
