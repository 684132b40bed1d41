/** Links and images of a page: absolute if the page's address is known, and text where there is no address to link to. */
import type { ElementContent, Properties } from "hast";
import type { EmbeddedImages } from "./embedded-images.ts";
import type { Work } from "./work.ts";

/** Schemes that are no links, or unsafe ones. */
const NOT_A_LINK = /^\s*(?:javascript|vbscript|data|blob|about|embedded):/i;
const MAX_BASE = 2000;

export class Links {
	readonly #base: string | undefined;
	readonly #images: EmbeddedImages;
	readonly #work: Work;

	constructor(base: string | undefined, images: EmbeddedImages, work: Work) {
		this.#base = base && base.length <= MAX_BASE ? base : undefined;
		this.#images = images;
		this.#work = work;
	}

	/** The absolute address. Spends the cost of writing it `times` times. */
	absolute(href: Properties[string], times = 1): string | undefined {
		if (typeof href !== "string" || href.trim() === "" || NOT_A_LINK.test(href)) return undefined;
		// The base is the address of the site, not of this page, so fragments stay relative.
		const base = href.startsWith("#") ? undefined : this.#base;
		const url = (base && URL.parse(href, base)?.href) || href.trim();
		this.#work.spendCharacters(url.length * times);
		return url;
	}

	/** A link without text or without an address is replaced by its content. */
	link({ href, title }: Properties, children: ElementContent[], times: number): ElementContent[] {
		const url = this.absolute(href, times);
		if (!url || !children.some(hasText)) return children;
		return [
			{
				type: "element",
				tagName: "a",
				properties: { href: url, ...this.#texts({ title }, times) },
				children,
			},
		];
	}

	/** An embedded image (`data:`) is replaced by the place of its description, or by its `alt` text. */
	image({ src, alt, title }: Properties): ElementContent[] {
		const mark = typeof src === "string" ? this.#images.addSource(src, String(alt ?? "")) : undefined;
		if (mark !== undefined) return [{ type: "text", value: mark }];
		const url = this.absolute(src);
		const texts = this.#texts({ alt, title });
		if (url) return [{ type: "element", tagName: "img", properties: { src: url, ...texts }, children: [] }];
		return texts.alt ? [{ type: "text", value: texts.alt }] : [];
	}

	/** The properties with text. Spends the cost of writing them `times` times. */
	#texts(properties: Properties, times = 1): Record<string, string> {
		const texts = Object.entries(properties).filter((pair): pair is [string, string] => Boolean(pair[1]));
		for (const [, text] of texts) this.#work.spendCharacters(text.length * times);
		return Object.fromEntries(texts);
	}
}

function hasText(node: ElementContent): boolean {
	if (node.type === "text") return node.value.trim() !== "";
	return node.type === "element" && (node.tagName === "img" || node.children.some(hasText));
}

/**
 * The base URL of relative links: the page's `<base>`, resolved against the host, which is a URL or a name. `undefined` if
 * neither is an absolute address.
 */
export function baseOf(hostname: string | undefined, base: string | undefined): string | undefined {
	const host = hostname && (/^[a-z][a-z0-9+.-]*:\/\//i.test(hostname) ? hostname : `https://${hostname}`);
	return (base && URL.parse(base, host || undefined)?.href) || (host && URL.parse(host)?.href) || undefined;
}
