/** A website of a test: answers by address, and a record of what was called. */

type Page = string | Response | (() => Response | Promise<Response>);

export const SITE = "https://docs.example.com";

export const html = (body: string, headers: Record<string, string> = {}): (() => Response) => {
	return () =>
		new Response(`<!doctype html><html><body>${body}</body></html>`, {
			headers: { "content-type": "text/html; charset=utf-8", ...headers },
		});
};
export const redirect = (location: string) => () =>
	new Response(null, { status: 302, headers: { location } });
export const links = (paths: readonly string[]): string =>
	paths.map((path) => `<a href="${path}">link</a>`).join(" ");
export const urlset = (paths: readonly string[]) => () =>
	new Response(
		`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths.map((path) => `<url><loc>${SITE}${path}</loc></url>`).join("")}</urlset>`,
		{ headers: { "content-type": "application/xml" } },
	);

/** Addresses that begin with a slash belong to {@link SITE}. Other addresses answer with 404. */
export function website(pages: Record<string, Page>) {
	const calls: { url: string; headers: Headers; redirect: string | undefined }[] = [];
	const site = {
		pages,
		calls,
		/** Paths of the calls, without robots.txt. */
		paths: () => calls.map(({ url }) => url.replace(SITE, "")).filter((path) => path !== "/robots.txt"),
		fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
			const url = String(input);
			calls.push({ url, headers: new Headers(init?.headers), redirect: init?.redirect });
			const page = site.pages[url.replace(SITE, "")] ?? new Response("none", { status: 404 });
			if (typeof page === "string") return html(page)();
			const answer = typeof page === "function" ? page() : page.clone();
			const aborted = new Promise<never>((_, reject) => {
				init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
			});
			return Promise.race([answer, aborted]);
		}) as typeof fetch,
	};
	return site;
}
