/** The links of a page of HTML, and what it says to robots. The runtime's rewriter reads the page as a stream. */
import { pageAddress } from "./page-address.ts";

/** Of one page. */
const MAX_LINKS = 10_000;

interface PageLinks {
	/** Absolute, each once. Empty with `nofollow`. */
	links: string[];
	/** The page must not be indexed. */
	isNoindex: boolean;
}

/** `robots`: the header `X-Robots-Tag`. */
export async function linksOf(
	html: Uint8Array,
	{ robots, url }: { url: string; robots: string },
): Promise<PageLinks> {
	const hrefs = new Set<string>();
	let base = url;
	const rules = [robots];
	const attribute = (element: Element, name: string): string => element.getAttribute(name) ?? "";
	const rewriter = new HTMLRewriter()
		.on("base[href]", {
			element(element) {
				base = URL.parse(attribute(element, "href"), url)?.href ?? base;
			},
		})
		.on("meta[name][content]", {
			element(element) {
				if (/^(?:robots|ganglionsearch)$/i.test(attribute(element, "name")))
					rules.push(attribute(element, "content"));
			},
		})
		.on("a[href]", {
			element(element) {
				if (hrefs.size < MAX_LINKS && !/\bnofollow\b/i.test(attribute(element, "rel")))
					hrefs.add(attribute(element, "href"));
			},
		});
	try {
		await drained(rewriter.transform(new Response(html as Uint8Array<ArrayBuffer>)).body);
	} catch {
		// The rewriter gives up where a page needs too much memory. The links before that place are used.
	}
	const has = (rule: string): boolean =>
		rules.some((text) => new RegExp(`\\b(?:${rule}|none)\\b`, "i").test(text));
	const found = [...hrefs].flatMap((href) => pageAddress(href.trim(), base) ?? []);
	return { links: has("nofollow") ? [] : [...new Set(found)], isNoindex: has("noindex") };
}

/** The handlers run while the body is read. */
async function drained(body: ReadableStream<Uint8Array> | null): Promise<void> {
	for await (const _ of body ?? []);
}
