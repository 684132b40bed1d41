/** HTML as Markdown or as plain text: parse, pick, clean, and let unified's libraries write. */

import type { Element, Nodes } from "hast";
import type { Html, PhrasingContent, Root } from "mdast";
import rehypeRemark, { type Options } from "rehype-remark";
import remarkGfm from "remark-gfm";
import remarkStringify from "remark-stringify";
import { unified } from "unified";
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

/** Markdown has no word for these, and without them 10<sup>6</sup> is 106. */
const asHtml: NonNullable<Options["handlers"]>[string] = (state, { tagName, children }: Element) => [
	html(`<${tagName}>`),
	...(state.all({ type: "root", children }) as PhrasingContent[]),
	html(`</${tagName}>`),
];

const html = (value: string): Html => ({ type: "html", value });

const toMdast = unified()
	.use(rehypeRemark, {
		handlers: {
			sub: asHtml,
			sup: asHtml,
			// A cell is one line.
			br: (state) => (state.inTable ? html("<br>") : { type: "break" }),
		},
	})
	.freeze();

const writer = unified()
	// Cells padded to the widest would make a megabyte of each row beside a megabyte in one cell.
	.use(remarkGfm, { tablePipeAlign: false })
	.use(remarkStringify, { bullet: "-", emphasis: "_", rule: "-", listItemIndent: "one" })
	.freeze();

export function htmlToMarkdown(text: string, options: HtmlOptions, work: Work): string {
	const { tree, metadata } = read(text, options, work);
	const linked = metadata.jsonLd.map((json) => `\`\`\`json\n${json}\n\`\`\`\n`);
	return frontMatter(metadata) + [writer.stringify(tree), ...linked].filter(Boolean).join("\n");
}

export function htmlToText(text: string, options: HtmlOptions, work: Work): string {
	const { tree, metadata } = read(text, options, work);
	const linked = metadata.jsonLd.map((json) => `${json}\n`);
	return plainMatter(metadata) + [plainText(tree), ...linked].filter(Boolean).join("\n");
}

function read(
	text: string,
	{ hostname, cssSelector }: HtmlOptions,
	work: Work,
): { tree: Root; metadata: Metadata } {
	const page = parseHtml(text, work);
	const metadata = metadataOf(page, work);
	// A block each: what was picked stood apart.
	const picked: Nodes[] | undefined = cssSelector
		? selectElements(page, cssSelector, work).map((element) => ({
				type: "element",
				tagName: "div",
				properties: {},
				children: [element],
			}))
		: undefined;
	const base = baseOf(hostname, metadata.base);
	const clean = cleanHtml(picked ?? page.children, { selected: picked !== undefined, base }, work);
	return { tree: toMdast.runSync(clean), metadata };
}
