/**
 * The structure of a page of a tagged PDF, as a tree of HTML. The roles are those of ISO 32000-2, 14.8.4; PDF.js has replaced a
 * document's own roles by them.
 */
import type { Element, ElementContent, Nodes } from "hast";
import { own } from "../../core/own.ts";
import type { PDFDocumentProxy } from "./pdf-types.ts";

type Page = Awaited<ReturnType<PDFDocumentProxy["getPage"]>>;
type TextItem = Awaited<ReturnType<Page["getTextContent"]>>["items"][number];
type Structure = NonNullable<Awaited<ReturnType<Page["getStructTree"]>>>;

/** The part of PDF.js' nodes that is read: an element, or a reference to marked content or to an annotation. */
interface StructureNode {
	role?: string;
	alt?: string;
	children?: StructureNode[];
	type?: string;
	id?: string;
}

interface PageTexts {
	/** By the id of the marked content. */
	texts: ReadonlyMap<string, string>;
	/** Addresses by the id of the annotation. */
	links: ReadonlyMap<string, string>;
}

/** A structure that has less of the page's text is not used: some programs tag only parts of a page. */
const MIN_TAGGED_SHARE = 0.6;

const TAGS: Readonly<Record<string, string>> = {
	P: "p",
	H: "h1",
	Title: "h1",
	H1: "h1",
	H2: "h2",
	H3: "h3",
	H4: "h4",
	H5: "h5",
	H6: "h6",
	L: "ul",
	LI: "li",
	Table: "table",
	TR: "tr",
	TH: "th",
	TD: "td",
	BlockQuote: "blockquote",
	Caption: "p",
	Note: "p",
	FENote: "p",
	Em: "em",
	Strong: "strong",
	Code: "code",
};

const LABEL =
	/^\s*(?:[\u2022\u2023\u25aa\u25a0\u25cb\u25cf\u25e6\u2043\u00b7\uf0b7\u2013-]|(\d+|[a-z])[.)])\s*/;

/** `undefined`: the page's text is to be written as it is. */
export function structureOf(
	tree: Structure,
	items: readonly TextItem[],
	links: ReadonlyMap<string, string>,
): Nodes[] | undefined {
	const { texts, total } = markedTexts(items);
	const nodes = contentOf(tree, { texts, links });
	const tagged = nodes.reduce((sum, node) => sum + textOf(node).replace(/\s/g, "").length, 0);
	return total > 0 && tagged >= total * MIN_TAGGED_SHARE ? nodes : undefined;
}

/** `total`: characters of the page without white space and artifacts (page numbers, running titles). */
function markedTexts(items: readonly TextItem[]): { texts: Map<string, string>; total: number } {
	const texts = new Map<string, string>();
	const open: { id?: string | undefined; isArtifact: boolean }[] = [];
	let total = 0;
	for (const item of items) {
		if (!("str" in item)) {
			if (item.type === "endMarkedContent") open.pop();
			else {
				const isArtifact = open.at(-1)?.isArtifact === true || ("tag" in item && item.tag === "Artifact");
				open.push({ id: item.id, isArtifact });
			}
			continue;
		}
		const place = open.findLast(({ id }) => id !== undefined);
		if (open.at(-1)?.isArtifact) continue;
		total += item.str.replace(/\s/g, "").length;
		if (place?.id !== undefined)
			texts.set(place.id, `${texts.get(place.id) ?? ""}${item.str}${item.hasEOL ? " " : ""}`);
	}
	return { texts, total };
}

const contentOf = ({ children = [] }: StructureNode, page: PageTexts): ElementContent[] =>
	children.flatMap((child) => nodesOf(child, page));

function nodesOf(node: StructureNode, page: PageTexts): ElementContent[] {
	if (node.role === undefined)
		return node.type === "content" ? [text(page.texts.get(node.id ?? "") ?? "")] : [];
	if (node.role === "Figure" || node.role === "Formula") {
		const inside = contentOf(node, page);
		return inside.some((child) => textOf(child).trim() !== "") || !node.alt ? inside : [text(node.alt)];
	}
	if (node.role === "Link") return linkOf(node, page);
	if (node.role === "L") return [listOf(node, page)];
	const tagName = own(TAGS, node.role);
	const children = contentOf(node, page);
	return tagName === undefined ? children : [element(tagName, children)];
}

/** The space before a link often belongs to its content. */
function linkOf(node: StructureNode, page: PageTexts): ElementContent[] {
	const annotation = node.children?.find(({ id }) => id !== undefined && page.links.has(id));
	const href = page.links.get(annotation?.id ?? "");
	const link = { ...element("a", contentOf(node, page)), properties: href === undefined ? {} : { href } };
	return /^\s/.test(textOf(link)) ? [text(" "), link] : [link];
}

/** The label of an item (`Lbl`, or the beginning of its text) decides the kind of the list. Markdown writes its own. */
function listOf(node: StructureNode, page: PageTexts): Element {
	let isOrdered = false;
	const items = (node.children ?? []).flatMap((child) => {
		if (child.role !== "LI") return nodesOf(child, page);
		const label = child.children?.find(({ role }) => role === "Lbl");
		const children = (child.children ?? [])
			.filter((part) => part !== label)
			.flatMap((part) => nodesOf(part, page));
		const written = label ? contentOf(label, page).map(textOf).join("") : withoutLabel(children);
		isOrdered ||= LABEL.exec(written)?.[1] !== undefined;
		return [element("li", children.flatMap(withoutParagraph))];
	});
	return element(isOrdered ? "ol" : "ul", items);
}

/** Markdown puts blank lines between the items of a list with paragraphs. */
const withoutParagraph = (node: ElementContent): ElementContent[] =>
	node.type === "element" && node.tagName === "p" ? [...node.children, text(" ")] : [node];

/** Removes the label from the first text, and returns it. */
function withoutLabel(nodes: readonly ElementContent[]): string {
	for (const node of nodes) {
		if (node.type === "element") {
			// The first text of a list inside is a label of that list.
			if (node.tagName === "ul" || node.tagName === "ol") return "";
			const found = withoutLabel(node.children);
			if (found !== "" || textOf(node).trim() !== "") return found;
		}
		if (node.type !== "text" || node.value.trim() === "") continue;
		const [label = ""] = LABEL.exec(node.value) ?? [];
		node.value = node.value.slice(label.length);
		return label;
	}
	return "";
}

const text = (value: string): ElementContent => ({ type: "text", value });
const element = (tagName: string, children: ElementContent[]): Element => ({
	type: "element",
	tagName,
	properties: {},
	children,
});

function textOf(node: Nodes): string {
	if (node.type === "text") return node.value;
	return "children" in node ? node.children.map(textOf).join("") : "";
}
