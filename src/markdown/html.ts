/**
 * Converts HTML to Markdown or plain text: parse, select, clean, then write with the libraries of unified. Its plugins are
 * not used, because they also load the parsers of Markdown.
 */

import type { Element, Nodes } from "hast";
import { type Options as ReaderOptions, toMdast } from "hast-util-to-mdast";
import type { Html, Nodes as MdastNodes, PhrasingContent, Root } from "mdast";
import { gfmToMarkdown } from "mdast-util-gfm";
import { toMarkdown, type Options as WriterOptions } from "mdast-util-to-markdown";
import { cleanHtml } from "./html-clean.ts";
import { baseOf } from "./html-links.ts";
import { frontMatter, type Metadata, metadataOf, plainMatter } from "./html-metadata.ts";
import { parseHtml } from "./html-parse.ts";
import { selectElements } from "./html-select.ts";
import { plainText } from "./plain.ts";
import type { Work } from "./work.ts";

export interface HtmlOptions {
	hostname?: string | undefined;
	cssSelector?: string | undefined;
}

/** Kept as HTML, because Markdown has no syntax for them and 10<sup>6</sup> would become 106. */
const asHtml: NonNullable<ReaderOptions["handlers"]>[string] = (state, { tagName, children }: Element) => [
	html(`<${tagName}>`),
	...(state.all({ type: "root", children }) as PhrasingContent[]),
	html(`</${tagName}>`),
];

const html = (value: string): Html => ({ type: "html", value });

const READING: ReaderOptions = {
	document: true,
	handlers: {
		sub: asHtml,
		sup: asHtml,
		// A table cell is one line.
		br: (state) => (state.inTable ? html("<br>") : { type: "break" }),
	},
};

const WRITING: WriterOptions = {
	bullet: "-",
	emphasis: "_",
	rule: "-",
	listItemIndent: "one",
	// Without padding: one cell of a megabyte would pad every other row to a megabyte.
	extensions: [gfmToMarkdown({ tablePipeAlign: false })],
};

export function htmlToMarkdown(text: string, options: HtmlOptions, work: Work): string {
	const { tree, metadata } = read(text, options, work);
	const jsonLd = metadata.jsonLd.map((json) => `\`\`\`json\n${json}\n\`\`\`\n`);
	return frontMatter(metadata) + [toMarkdown(tree, WRITING), ...jsonLd].filter(Boolean).join("\n");
}

export function htmlToText(text: string, options: HtmlOptions, work: Work): string {
	const { tree, metadata } = read(text, options, work);
	const jsonLd = metadata.jsonLd.map((json) => `${json}\n`);
	return plainMatter(metadata) + [plainText(tree), ...jsonLd].filter(Boolean).join("\n");
}

function read(
	text: string,
	{ hostname, cssSelector }: HtmlOptions,
	work: Work,
): { tree: Root; metadata: Metadata } {
	const page = parseHtml(text, work);
	const metadata = metadataOf(page, work);
	// One block per element, because the selected elements were apart in the page.
	const selected: Nodes[] | undefined = cssSelector
		? selectElements(page, cssSelector, work).map((element) => ({
				type: "element",
				tagName: "div",
				properties: {},
				children: [element],
			}))
		: undefined;
	const base = baseOf(hostname, metadata.base);
	const clean = cleanHtml(selected ?? page.children, { selected: selected !== undefined, base }, work);
	return { tree: rootOf(toMdast(clean, READING)), metadata };
}

/** The tree of a document is always a root. */
function rootOf(tree: MdastNodes): Root {
	if (tree.type !== "root") throw new TypeError(`a page became a ${tree.type}`);
	return tree;
}
