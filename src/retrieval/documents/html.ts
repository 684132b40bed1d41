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
import { frontMatter, metadataOf } from "./html-metadata.ts";
import { parseHtml } from "./html-parse.ts";
import { selectElements } from "./html-select.ts";
import type { Converter } from "./options.ts";
import { plainText } from "./plain.ts";

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

export const convertHtml: Converter = (text, { format, work, hostname, cssSelector }) => {
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
	const tree = rootOf(toMdast(clean, READING));
	const isMarkdown = format === "markdown";
	const jsonLd = metadata.jsonLd.map((json) => (isMarkdown ? `\`\`\`json\n${json}\n\`\`\`\n` : `${json}\n`));
	const body = isMarkdown ? toMarkdown(tree, WRITING) : plainText(tree);
	return frontMatter(metadata, isMarkdown) + [body, ...jsonLd].filter(Boolean).join("\n");
};

/** The tree of a document is always a root. */
function rootOf(tree: MdastNodes): Root {
	if (tree.type !== "root") throw new TypeError(`a page became a ${tree.type}`);
	return tree;
}
