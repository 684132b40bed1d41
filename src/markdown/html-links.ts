/** Links and images: absolute where the page's address is known, and plain words where Markdown cannot follow them. */
import type { ElementContent, Properties } from "hast";
import type { Work } from "./work.ts";

/** Nothing to follow, or nothing to follow safely. */
const NOT_A_LINK = /^\s*(?:javascript|vbscript|data|blob|about):/i;
const MAX_BASE = 2000;

export class Links {
	readonly #base: string | undefined;
	readonly #work: Work;

	constructor(base: string | undefined, work: Work) {
		this.#base = base && base.length <= MAX_BASE ? base : undefined;
		this.#work = work;
	}

	/** Spends what the address costs where it is written `times`. */
	absolute(href: Properties[string], times = 1): string | undefined {
		if (typeof href !== "string" || href.trim() === "" || NOT_A_LINK.test(href)) return undefined;
		// The base says where the site is, not this page, so a place on this page stays one.
		const base = href.startsWith("#") ? undefined : this.#base;
		const url = (base && URL.parse(href, base)?.href) || href.trim();
		this.#work.spendCharacters(url.length * times);
		return url;
	}

	/** Without words there is nothing to read; an anchor without an address is its words. */
	link({ href, title }: Properties, children: ElementContent[], times: number): ElementContent[] {
		const url = this.absolute(href, times);
		if (!url || !children.some(hasWords)) return children;
		return [
			{ type: "element", tagName: "a", properties: { href: url, ...this.#said({ title }, times) }, children },
		];
	}

	/** An embedded image would have to be described by a model: what its author says of it stands for it. */
	image({ src, alt, title }: Properties): ElementContent[] {
		const url = this.absolute(src);
		const said = this.#said({ alt, title });
		if (url) return [{ type: "element", tagName: "img", properties: { src: url, ...said }, children: [] }];
		return said.alt ? [{ type: "text", value: said.alt }] : [];
	}

	#said(properties: Properties, times = 1): Record<string, string> {
		const said = Object.entries(properties).filter((entry): entry is [string, string] => Boolean(entry[1]));
		for (const [, words] of said) this.#work.spendCharacters(words.length * times);
		return Object.fromEntries(said);
	}
}

function hasWords(node: ElementContent): boolean {
	if (node.type === "text") return node.value.trim() !== "";
	return node.type === "element" && (node.tagName === "img" || node.children.some(hasWords));
}

/**
 * What relative links are relative to: the page's `<base>`, itself relative to the host; a host is an address or a name.
 * `undefined` when neither says where the page is.
 */
export function baseOf(hostname: string | undefined, base: string | undefined): string | undefined {
	const host = hostname && (/^[a-z][a-z0-9+.-]*:\/\//i.test(hostname) ? hostname : `https://${hostname}`);
	return (base && URL.parse(base, host || undefined)?.href) || (host && URL.parse(host)?.href) || undefined;
}
