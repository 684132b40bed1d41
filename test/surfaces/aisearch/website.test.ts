/** Websites as sources of AI Search. Fields and errors: developers.cloudflare.com/ai-search/configuration/data-source/website. */
import { describe, expect, it, vi } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { keepFiles, searchApi } from "./api.ts";
import { html, links, redirect, SITE, urlset, website } from "./website.ts";

const TEXT = "<h1>Passwords</h1><p>To reset a password, open the settings page.</p>";
const discover = (options: object = {}, others: object = {}) => ({
	type: "web-crawler",
	source: SITE,
	source_params: {
		web_crawler: { parse_type: "discover", discover_options: { source: "links", ...options } },
		...others,
	},
});

function crawler(site: ReturnType<typeof website>, setting: object = {}) {
	const vars = { DEFAULT_BACKEND: "simulator", AI_SEARCH: { allow_network: true, ...setting } };
	const api = searchApi({ vars, fetch: site.fetch });
	let later = 0;
	const services = api.services as { now(): number };
	// The instance's object has the machine's clock: with an older one, its scheduled job would be due.
	services.now = () => Date.now() + later;
	return {
		...api,
		keys: async () =>
			(await api.get("/instances/docs/items?per_page=50")).result
				.map(({ key }: { key: string }) => key)
				.sort(),
		items: async () => (await api.get("/instances/docs/items?per_page=50")).result,
		job: async () => (await api.get("/instances/docs/jobs")).result[0],
		logs: async () => {
			const [{ id }] = (await api.get("/instances/docs/jobs")).result;
			const { result } = await api.get(`/instances/docs/jobs/${id}/logs?per_page=50`);
			return result.map(({ message }: { message: string }) => message);
		},
		/** Another job, after the cooldown. */
		sync: () => {
			later += 60_000;
			return api.post("/instances/docs/jobs", {});
		},
		wait: (milliseconds: number) => {
			later += milliseconds;
		},
	};
}

describe("a website", () => {
	it("is read by its links, and its pages are found", async () => {
		const site = website({
			"/": `${TEXT}${links(["/guide", "/guide#part", "mailto:a@example.com", "https://other.example.org/"])}`,
			"/guide": `<p>A guide to invoices.</p>${links(["/", "deep/er"])}`,
			"/deep/er": "<p>Deep text about turbines.</p>",
		});
		const api = crawler(site);
		const created = await api.create("docs", discover());
		expect(created.result).toMatchObject({ type: "web-crawler", source: `${SITE}/`, sync_interval: 21_600 });
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/deep/er`, `${SITE}/guide`]);
		expect(site.paths().sort()).toEqual(["/", "/deep/er", "/guide"]);
		expect((await api.items())[0]).toMatchObject({ status: "completed", source_id: `web-crawler:${SITE}/` });
		const { result } = await api.post("/instances/docs/search", { query: "reset password" });
		expect(result.chunks[0].item.key).toBe(`${SITE}/`);
		expect(await api.job()).toMatchObject({ source: "user", ended_at: expect.any(String) });
		expect(await api.job()).not.toHaveProperty("end_reason");
	});

	it("is called as robots.txt expects it, and redirects are not followed by the runtime", async () => {
		const site = website({ "/": TEXT });
		await crawler(site).create("docs", discover());
		expect(site.calls[0]?.url).toBe(`${SITE}/robots.txt`);
		for (const { headers, redirect: mode } of site.calls)
			expect([headers.get("user-agent"), headers.get("x-ganglion-hop"), mode]).toEqual([
				"GanglionSearch",
				"1",
				"manual",
			]);
	});

	it("is refused without allow_network, and for private addresses, also if the source changes", async () => {
		const closed = searchApi();
		expect(await closed.create("docs", discover())).toMatchObject({
			status: 503,
			errors: [{ code: 7017, message: expect.stringContaining("AI_SEARCH.allow_network") }],
		});
		const api = crawler(website({}));
		for (const source of [
			"http://127.0.0.1/",
			"http://10.1.2.3",
			"https://[::1]/",
			"http://localhost:8080",
			"http://0x7f.1/",
		])
			expect((await api.create("docs", { ...discover(), source })).errors[0]).toEqual({
				code: 1001,
				message: "source: expected a public address",
			});
		for (const source of ["https://a:b@example.com/", "https://", "ftp.example.com:x"])
			expect((await api.create("docs", { ...discover(), source })).status).toBe(400);
		await api.create("docs");
		expect(
			(await api.put("/instances/docs", { ...discover(), source: "http://169.254.169.254/" })).status,
		).toBe(400);
		expect((await api.get("/instances/docs")).result.source).toBe(null);
	});

	it("leads to no private address and no other host by links, sitemaps and redirects", async () => {
		const site = website({
			"/robots.txt": () => new Response("Sitemap: https://docs.example.com/map.xml"),
			"/map.xml": () =>
				new Response(
					`<urlset>${["http://127.0.0.1/admin", "http://169.254.169.254/latest", "https://evil.example.org/x", "file:///etc/passwd", `${SITE}/good`].map((url) => `<url><loc>${url}</loc></url>`).join("")}</urlset>`,
				),
			"/": `${TEXT}${links(["http://10.0.0.1/", "http://[::1]/", "//192.168.0.1/", "/away", "/inside", "javascript:alert(1)", "https://user:key@docs.example.com/"])}`,
			"/away": redirect("http://127.0.0.1:8787/client/v4/accounts/local/ai/models"),
			"/inside": redirect("http://metadata.internal/"),
			"/good": "<p>Good text.</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover({ source: "all" }));
		expect(site.calls.every(({ url }) => url.startsWith(SITE))).toBe(true);
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/good`]);
		expect(await api.logs()).toContain(`${SITE}/away: redirects to an address outside of the source`);
	});

	it("ends if pages redirect in a circle, and follows redirects inside of it", async () => {
		const site = website({
			"/": `${TEXT}${links(["/a", "/self", "/old"])}`,
			"/a": redirect("/b"),
			"/b": redirect("/a"),
			"/self": redirect("/self"),
			"/old": redirect("/new"),
			"/new": "<p>The new page.</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover());
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/new`]);
		expect(site.paths().sort()).toEqual(["/", "/a", "/b", "/new", "/old", "/self"]);
	});

	it("has as many pages as the limit, and as far from its start as the depth", async () => {
		const many = Array.from({ length: 100 }, (_, index) => `/page-${index}`);
		const pages = Object.fromEntries(many.map((path) => [path, `<p>Text of ${path}</p>`]));
		const site = website({ ...pages, "/": `${TEXT}${links(many)}` });
		const api = crawler(site);
		await api.create("docs", discover({ limit: 12 }));
		expect(site.paths()).toHaveLength(12);
		expect((await api.get("/instances/docs/items")).result_info.total_count).toBe(12);

		const chain = website(
			Object.fromEntries(
				Array.from({ length: 9 }, (_, index) => [
					index === 0 ? "/" : `/${index}`,
					`<p>Text ${index}</p>${links([`/${index + 1}`])}`,
				]),
			),
		);
		const deep = crawler(chain);
		await deep.create("docs", discover({ depth: 3 }));
		expect(chain.paths()).toEqual(["/", "/1", "/2", "/3"]);
	});

	it("is bounded by the operator's number of pages", async () => {
		const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
		const site = website({
			"/": `${TEXT}${links(paths)}`,
			...Object.fromEntries(paths.map((path) => [path, TEXT + path])),
		});
		await crawler(site, { max_pages: 5 }).create("docs", discover({ limit: 100_000 }));
		expect(site.paths()).toHaveLength(5);
	});

	it("has only pages that the patterns include, and reads excluded ones never", async () => {
		const site = website({
			"/": `${TEXT}${links(["/docs/a", "/docs/private/b", "/blog/c"])}`,
			"/docs/a": "<p>Text a</p>",
			"/docs/private/b": "<p>Text b</p>",
			"/blog/c": `<p>Text c</p>${links(["/docs/d.html"])}`,
			"/docs/d.html": "<p>Text d</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover({}, { include_items: ["/docs/**"], exclude_items: ["**/private/*"] }));
		expect(await api.keys()).toEqual([`${SITE}/docs/a`, `${SITE}/docs/d.html`]);
		expect(site.paths()).not.toContain("/docs/private/b");
		const bad = await api.put("/instances/docs", { source_params: { include_items: ["(a+)+$"] } });
		expect(bad.errors[0]).toMatchObject({ code: 1001, message: expect.stringContaining("include_items") });
	});

	it("includes subdomains only if the source does", async () => {
		const site = website({
			"/": `${TEXT}${links(["https://api.docs.example.com/x", "https://notdocs.example.com/"])}`,
			"https://api.docs.example.com/x": "<p>API</p>",
		});
		const closed = crawler(site);
		await closed.create("docs", discover());
		expect(await closed.keys()).toEqual([`${SITE}/`]);
		const open = crawler(site);
		await open.create("docs", discover({ include_subdomains: true }));
		expect(await open.keys()).toEqual(["https://api.docs.example.com/x", `${SITE}/`]);
	});
});

describe("robots.txt", () => {
	const pages = {
		"/": `${TEXT}${links(["/private/a", "/open"])}`,
		"/private/a": "<p>a</p>",
		"/open": "<p>open</p>",
	};
	const robots = (text: string) => () => new Response(text, { headers: { "content-type": "text/plain" } });

	it("closes paths, for all robots and for this one", async () => {
		for (const agent of ["*", "GanglionSearch"]) {
			const site = website({ ...pages, "/robots.txt": robots(`User-agent: ${agent}\nDisallow: /private/`) });
			const api = crawler(site);
			await api.create("docs", discover());
			expect(site.paths().sort()).toEqual(["/", "/open"]);
			expect(await api.logs()).toContain(`${SITE}/private/a: robots.txt or the configuration excludes it`);
		}
	});

	it("ends a job with its reason if it closes all, or cannot be read", async () => {
		const closed = crawler(website({ ...pages, "/robots.txt": robots("User-agent: *\nDisallow: /") }));
		await closed.create("docs", discover());
		expect(await closed.job()).toMatchObject({ end_reason: "forbidden_robots_txt" });
		const site = website({ ...pages, "/robots.txt": () => new Response("", { status: 503 }) });
		const down = crawler(site);
		await down.create("docs", discover());
		expect(await down.job()).toMatchObject({ end_reason: "robots.txt cannot be read" });
		expect(site.paths()).toEqual([]);
	});

	it("sets the pause between two pages", async () => {
		const site = website({ ...pages, "/robots.txt": robots("User-agent: *\nCrawl-delay: 2") });
		const api = crawler(site);
		const wait = vi.spyOn(api.services, "wait");
		await api.create("docs", discover());
		expect(wait.mock.calls.filter(([milliseconds]) => milliseconds === 2_000)).toHaveLength(3);
		const slow = website({ ...pages, "/robots.txt": robots("User-agent: *\nCrawl-delay: 600") });
		const held = crawler(slow);
		held.hold();
		await held.create("docs", discover());
		const work = held.held.find(({ key }) => key.includes("sync/"));
		if (!work) throw new Error("no work was queued");
		await expect(held.runOnce(work)).rejects.toMatchObject({ name: "PostponedWork", milliseconds: 600_000 });
		expect(slow.paths()).toEqual(["/"]);
	});

	it("is read again by a page's own rules: noindex, nofollow, and the header", async () => {
		const site = website({
			"/": `${TEXT}${links(["/none", "/header", "/rel"])}<a rel="nofollow" href="/never">x</a>`,
			"/none": `<meta name="robots" content="noindex, nofollow"><p>n</p>${links(["/behind"])}`,
			"/header": html("<p>h</p>", { "x-robots-tag": "noindex" }),
			"/rel": "<p>rel</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover());
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/rel`]);
		expect(site.paths().sort()).toEqual(["/", "/header", "/none", "/rel"]);
	});
});

describe("sitemaps", () => {
	const sitemap = { type: "web-crawler", source: "docs.example.com" };
	const gzip = async (text: string | Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> =>
		new Response(new Response(text).body?.pipeThrough(new CompressionStream("gzip"))).arrayBuffer();

	it("name the pages, also by an index, packed, and as text", async () => {
		const packed = await gzip(await urlset(["/b"])().text());
		const site = website({
			"/sitemap.xml": () =>
				new Response(
					`<sitemapindex>${["/one.xml", "/two.xml.gz", "/three.txt", "/sitemap.xml"].map((path) => `<sitemap><loc>${SITE}${path}</loc></sitemap>`).join("")}</sitemapindex>`,
				),
			"/one.xml": urlset(["/a?x=1&amp;y=2"]),
			"/two.xml.gz": () => new Response(packed),
			"/three.txt": () => new Response(`${SITE}/c\nno address\n`),
			...Object.fromEntries(
				["/a?x=1&y=2", "/b", "/c"].map((path) => [path, `<p>Text ${path}</p>${links(["/unlisted"])}`]),
			),
		});
		const api = crawler(site);
		await api.create("docs", sitemap);
		expect(await api.keys()).toEqual([`${SITE}/a?x=1&y=2`, `${SITE}/b`, `${SITE}/c`]);
		expect(site.paths()).not.toContain("/unlisted");
	});

	it("that are missing or no sitemaps end the job with its reason", async () => {
		const none: Parameters<typeof website>[0][] = [
			{},
			{ "/sitemap.xml": "<p>no</p>" },
			{ "/sitemap.xml": () => new Response("<urlset><url>") },
		];
		for (const pages of none) {
			const api = crawler(website(pages));
			await api.create("docs", sitemap);
			expect(await api.job()).toMatchObject({ end_reason: "missing_sitemap" });
		}
	});

	it("that unpack to gigabytes, nest or name others are harmless", async () => {
		const bomb = await gzip(new Uint8Array(32 * 1_024 * 1_024));
		const entities = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]><urlset><url><loc>${SITE}/&c;</loc></url></urlset>`;
		let nested = 0;
		const site = website({
			"/robots.txt": () =>
				new Response(
					["/bomb.gz", "/entities.xml", "/nest-0.xml", "/deep.xml"]
						.map((path) => `Sitemap: ${SITE}${path}`)
						.join("\n"),
				),
			"/bomb.gz": () => new Response(bomb),
			"/entities.xml": () => new Response(entities),
			"/deep.xml": () => new Response("<a>".repeat(100_000)),
			...Object.fromEntries(
				Array.from({ length: 9 }, (_, level) => [
					`/nest-${level}.xml`,
					() => {
						nested++;
						return new Response(
							`<sitemapindex><sitemap><loc>${SITE}/nest-${level + 1}.xml</loc></sitemap></sitemapindex>`,
						);
					},
				]),
			),
		});
		const api = crawler(site);
		await api.create("docs", sitemap);
		expect(nested).toBe(3);
		expect(await api.keys()).toEqual([]);
		expect((await api.job()).ended_at).toBeDefined();
	});

	it("with 10,000 pages are read up to the limit", async () => {
		const paths = Array.from({ length: 10_000 }, (_, index) => `/p/${index}`);
		const site = website({
			"/sitemap.xml": urlset(paths),
			...Object.fromEntries(paths.map((path) => [path, `<p>${path}</p>`])),
		});
		await crawler(site).create("docs", {
			...sitemap,
			source_params: { web_crawler: { discover_options: { limit: 30 } } },
		});
		// The sitemap itself is one place.
		expect(site.paths()).toHaveLength(30);
	});
});

describe("hostile pages", () => {
	it("that lie about their type, are empty or too large are not indexed", async () => {
		const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13]);
		const typed = (body: BodyInit, type: string) => () =>
			new Response(body, { headers: { "content-type": type } });
		const site = website({
			"/": `${TEXT}${links(["/png", "/pdf", "/notpdf", "/empty", "/huge", "/json", "/notype", "/page.php"])}`,
			"/png": typed(png, "text/html"),
			"/pdf": typed("%PDF-1.7 binary", "text/html"),
			"/notpdf": typed("<p>html</p>", "application/pdf"),
			"/empty": typed("", "text/html"),
			"/huge": () =>
				new Response(
					new ReadableStream({
						pull(controller) {
							controller.enqueue(new TextEncoder().encode("<p>x</p>".repeat(8_192)));
						},
					}),
					{ headers: { "content-type": "text/html" } },
				),
			"/json": typed("{}", "application/json"),
			"/notype": () => new Response(new Uint8Array([1, 2, 3])),
			"/page.php": "<p>A page of PHP.</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover());
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/page.php`]);
		const logs = await api.logs();
		for (const path of ["/png", "/pdf", "/notpdf", "/empty", "/json", "/notype"])
			expect(logs).toContain(`${SITE}${path}: unsupported_type`);
		expect(logs).toContain(`${SITE}/huge: over_size: the page has more than 4194304 bytes`);
		const [, page] = await api.items();
		const { result } = await api.get(`/instances/docs/items/${page.id}/chunks`);
		expect(result[0].text).not.toContain("<p>");
	});

	it("that fail are read three times, and the others are indexed", async () => {
		const site = website({
			"/": `${TEXT}${links(["/broken", "/down", "/forbidden"])}`,
			"/broken": () => new Response("", { status: 500 }),
			"/down": () => Promise.reject(new TypeError("connection reset")),
			"/forbidden": () => new Response("", { status: 403 }),
		});
		const api = crawler(site);
		await api.create("docs", discover());
		expect(await api.keys()).toEqual([`${SITE}/`]);
		const count = (path: string) => site.paths().filter((called) => called === path).length;
		expect([count("/broken"), count("/down"), count("/forbidden")]).toEqual([3, 3, 1]);
		expect(await api.logs()).toEqual(
			expect.arrayContaining([
				`${SITE}/broken: the server answered with 500`,
				`${SITE}/down: the server cannot be reached`,
				`${SITE}/forbidden: the server answered with 403`,
			]),
		);
	});

	it("that ask for a pause get it", async () => {
		const busy = () => new Response("", { status: 429, headers: { "retry-after": "120" } });
		const api = crawler(website({ "/": busy }));
		api.hold();
		await api.create("docs", discover());
		const work = api.held.find(({ key }) => key.includes("sync/"));
		if (!work) throw new Error("no work was queued");
		await expect(api.runOnce(work)).rejects.toMatchObject({ name: "PostponedWork", milliseconds: 120_000 });
	});
});

describe("a website that is read again", () => {
	const version = (text: string, etag: string, others = "") =>
		html(`<p>${text}</p>${others}`, { etag, "last-modified": "Wed, 18 Nov 2026 10:00:00 GMT" });

	it("is asked by ETag and Last-Modified; links of pages that have not changed are kept", async () => {
		const site = website({
			"/": version("Start", '"1"', links(["/a", "/b"])),
			"/a": version("Text a", '"2"', links(["/c"])),
			"/b": version("Text b", '"3"'),
			"/c": "<p>Text c</p>",
		});
		const api = crawler(site);
		await api.create("docs", discover());
		const before = await api.items();
		site.calls.length = 0;
		const unchanged = () => new Response(null, { status: 304 });
		Object.assign(site.pages, { "/": unchanged, "/a": unchanged, "/b": version("Other text b", '"4"') });
		await api.sync();
		expect(site.calls.find(({ url }) => url === `${SITE}/a`)?.headers.get("if-none-match")).toBe('"2"');
		expect(site.calls.find(({ url }) => url === `${SITE}/a`)?.headers.get("if-modified-since")).toBe(
			"Wed, 18 Nov 2026 10:00:00 GMT",
		);
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/a`, `${SITE}/b`, `${SITE}/c`]);
		const after = await api.items();
		const checksums = (items: { key: string; checksum: string }[]) =>
			Object.fromEntries(items.map(({ checksum, key }) => [key, checksum]));
		const changed = Object.entries(checksums(after)).filter(
			([key, checksum]) => checksums(before)[key] !== checksum,
		);
		expect(changed.map(([key]) => key)).toEqual([`${SITE}/b`]);
		// Only the changed page was embedded again.
		const logs = await api.logs();
		expect(logs.filter((line: string) => line.includes("is indexed"))).toHaveLength(1);
	});

	it("loses the items of pages that are gone or not linked any more, but not of a server that is down", async () => {
		const site = website({ "/": `${TEXT}${links(["/a", "/b"])}`, "/a": "<p>a</p>", "/b": "<p>b</p>" });
		const api = crawler(site);
		await api.create("docs", discover());
		Object.assign(site.pages, { "/": () => new Response("", { status: 503 }) });
		await api.sync();
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/a`, `${SITE}/b`]);
		Object.assign(site.pages, { "/": `${TEXT}${links(["/a"])}` });
		await api.sync();
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/a`]);
		Object.assign(site.pages, { "/a": () => new Response("", { status: 410 }) });
		await api.sync();
		expect(await api.keys()).toEqual([`${SITE}/`]);
		const { result } = await api.post("/instances/docs/search", {
			query: "a",
			ai_search_options: { retrieval: { match_threshold: 0 } },
		});
		expect(result.chunks.map(({ item }: { item: { key: string } }) => item.key)).toEqual([`${SITE}/`]);
	});

	it("whose page has changed is indexed again if the old text cannot be deleted, which is logged", async () => {
		const site = website({ "/": TEXT });
		const api = crawler(site);
		await api.create("docs", discover());
		const [before] = await api.items();
		const logged = keepFiles(api);
		Object.assign(site.pages, { "/": "<p>Another text</p>" });
		await api.sync();
		const [after] = await api.items();
		expect(after).toMatchObject({ key: before.key, status: "completed" });
		expect(after.checksum).not.toBe(before.checksum);
		expect(logged).toEqual(["storageUnavailable"]);
	});

	it("is not called for pages that are younger than max_age", async () => {
		const site = website({ "/": `${TEXT}${links(["/a"])}`, "/a": "<p>a</p>" });
		const api = crawler(site);
		await api.create("docs", discover({ max_age: 600 }));
		site.calls.length = 0;
		await api.sync();
		expect(site.paths()).toEqual([]);
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/a`]);
		api.wait(600_000);
		await api.sync();
		expect(site.paths().sort()).toEqual(["/", "/a"]);
	});

	it("keeps uploads, and replaces the items of another source", async () => {
		const site = website({ "/": TEXT, "https://www.example.net/": "<p>Another site</p>" });
		const api = crawler(site);
		await api.create("docs", discover());
		await api.upload("own.md", "An upload.");
		expect((await api.put("/instances/docs", { source: "https://www.example.net/" })).status).toBe(200);
		expect(await api.keys()).toEqual(["https://www.example.net/", "own.md"]);
	});
});

describe("a job of a website", () => {
	it("stops when it is cancelled or another one starts", async () => {
		const site = website({ "/": `${TEXT}${links(["/a"])}`, "/a": "<p>a</p>" });
		const api = crawler(site);
		api.hold();
		await api.create("docs", discover());
		const { id } = await api.job();
		expect((await api.patch(`/instances/docs/jobs/${id}`, { action: "cancel" })).result.end_reason).toBe(
			"cancelled_by_user",
		);
		await api.runAll();
		expect(site.calls.length).toBeLessThanOrEqual(1);
		await api.sync();
		await api.sync();
		const [, before] = (await api.get("/instances/docs/jobs")).result;
		expect(before.end_reason).toBe("new_job_has_started");
		await api.runAll();
		await api.runAll();
		expect(await api.keys()).toEqual([`${SITE}/`, `${SITE}/a`]);
	});

	it("waits while the instance is paused, and refuses to start", async () => {
		const site = website({ "/": TEXT });
		const api = crawler(site);
		api.hold();
		await api.create("docs", discover());
		await api.put("/instances/docs", { paused: true });
		const work = api.held.find(({ key }) => key.includes("sync/"));
		if (!work) throw new Error("no work was queued");
		await expect(api.runOnce(work)).rejects.toMatchObject({ name: "PostponedWork" });
		expect(site.calls).toEqual([]);
		expect((await api.sync()).errors[0]?.code).toBe(7032);
	});

	it("continues after a kill with the pages that were not committed", async () => {
		const paths = Array.from({ length: 30 }, (_, index) => `/${index}`);
		const site = website({
			"/": `${TEXT}${links(paths)}`,
			...Object.fromEntries(paths.map((path) => [path, `<p>Text ${path}</p>`])),
		});
		let calls = 0;
		let killAt = 9;
		const killed = Promise.withResolvers<void>();
		const ended = Promise.withResolvers<never>();
		ended.promise.catch(() => {});
		const fetching = site.fetch;
		const mortal = {
			...site,
			fetch: ((input: string, init: RequestInit) => {
				// From this call on, nothing of the first process goes on before the end of the test.
				if (++calls >= killAt) {
					killed.resolve();
					return ended.promise;
				}
				return fetching(input, init);
			}) as typeof fetch,
		};
		const api = crawler(mortal);
		api.hold();
		await api.create("docs", discover());
		const work = api.held.find(({ key }) => key.includes("sync/"));
		if (!work) throw new Error("no work was queued");
		const held = bufferedBytes.report().used;
		const first = api.runOnce(work).catch(() => {});
		await killed.promise;
		killAt = Number.POSITIVE_INFINITY;
		await api.runOne(work);
		await api.runAll();
		expect((await api.get("/instances/docs/items")).result_info.total_count).toBe(31);
		const counts = new Map<string, number>();
		for (const path of site.paths()) counts.set(path, (counts.get(path) ?? 0) + 1);
		// At most the pages of one step are read again.
		expect([...counts.values()].filter((count) => count > 1).length).toBeLessThanOrEqual(4);
		expect((await api.job()).ended_at).toBeDefined();
		// The memory of a process ends with it. Otherwise the limits of its calls would end later, and it would go on beside other tests.
		killAt = 0;
		ended.reject(new Error("the process was killed"));
		await first;
		expect(bufferedBytes.report().used).toBe(held);
	});
});
