/**
 * Converts HTML to Markdown or plain text: parse, select, clean, then write with the libraries of unified. Its plugins are
 * not used, because they also load the parsers of Markdown.
 */
import type { Element, Nodes } from "hast";
import { type Options as ReaderOptions, toMdast } from "hast-util-to-mdast";
import type { Html, Nodes as MdastNodes, PhrasingContent, Root } from "mdast";
import { gfmToMarkdown } from "mdast-util-gfm";
import { toMarkdown, type Options as WriterOptions } from "mdast-util-to-markdown";
import { decodeText } from "./decode.ts";
import type { EmbeddedImages } from "./embedded-images.ts";
import { cleanHtml } from "./html-clean.ts";
import { baseOf } from "./html-links.ts";
import { frontMatter, metadataOf } from "./html-metadata.ts";
import { parseHtml } from "./html-parse.ts";
import { selectElements } from "./html-select.ts";
import type { KindConverter, OpenedFile } from "./opened-file.ts";
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

export const convertHtml: KindConverter = (file) => {
	const { bytes, sentType, format, work, images, options } = file;
	work.spendCharacters(bytes.length);
	const { hostname, cssSelector } = options.html ?? {};
	const text = decodeText(bytes, sentType);
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
	const isMarkdown = format === "markdown";
	const isSelected = selected !== undefined;
	const body = written(selected ?? page.children, { selected: isSelected, base, images }, file);
	const jsonLd = metadata.jsonLd.map((json) => (isMarkdown ? `\`\`\`json\n${json}\n\`\`\`\n` : `${json}\n`));
	return frontMatter(metadata, isMarkdown) + [body, ...jsonLd].filter(Boolean).join("\n");
};

function written(
	nodes: readonly Nodes[],
	options: { selected: boolean; base: string | undefined; images: EmbeddedImages },
	{ format, work }: Pick<OpenedFile, "format" | "work">,
): string {
	const tree = rootOf(toMdast(cleanHtml(nodes, options, work), READING));
	return format === "markdown" ? toMarkdown(tree, WRITING) : plainText(tree);
}

/** Images inside of HTML, whose bytes are no text. */
const DATA_URLS = /"data:[^"]*"/g;

/** Writes the HTML or the tree that another kind has made of its document. */
export function writeDocument(content: string | readonly Nodes[], file: OpenedFile): string {
	const { images, work } = file;
	if (typeof content === "string") work.spendCharacters(content.replace(DATA_URLS, "").length);
	const nodes = typeof content === "string" ? parseHtml(content, work).children : content;
	return written(nodes.map(withHeaderRows), { selected: true, base: undefined, images }, file);
}

/** Office documents seldom mark the header of a table. Markdown has no table without one. */
function withHeaderRows<T extends Nodes>(node: T): T {
	if (!("children" in node)) return node;
	if (node.type === "element" && node.tagName === "table" && elementIn(node, "th") === undefined) {
		const row = elementIn(node, "tr");
		for (const cell of row?.children ?? [])
			if (cell.type === "element" && cell.tagName === "td") cell.tagName = "th";
	}
	for (const child of node.children) withHeaderRows(child);
	return node;
}

function elementIn(node: Element, tagName: string): Element | undefined {
	for (const child of node.children) {
		if (child.type !== "element") continue;
		const found = child.tagName === tagName ? child : elementIn(child, tagName);
		if (found) return found;
	}
	return undefined;
}

/** The tree of a document is always a root. */
function rootOf(tree: MdastNodes): Root {
	if (tree.type !== "root") throw new TypeError(`a page became a ${tree.type}`);
	return tree;
}
