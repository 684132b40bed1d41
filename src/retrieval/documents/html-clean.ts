/**
 * Prepares the tree of a page for Markdown: removes elements without content, makes links absolute, and replaces elements
 * that Markdown cannot express. Returns a new tree; the input is not changed.
 *
 * As in the product, scripts and styles are removed, and, without a selector, also the page's head, headers and footers.
 * Layout tables are flattened; blocks in the cells of other tables become lines, also the rows of tables.
 */
import type { Element, ElementContent, Nodes, Properties, Root } from "hast";
import type { EmbeddedImages } from "./embedded-images.ts";
import { classNames } from "./html-compound.ts";
import { Links } from "./html-links.ts";
import { cellSpans, isLayout } from "./html-table.ts";
import type { Work } from "./work.ts";

const tags = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/));

const IGNORED = tags(`
	script style template noscript svg math object embed applet canvas map area param source track base link meta title
	datalist`);
const AROUND_CONTENT = tags("head header footer");
/** Inline elements that have a form in Markdown. Other inline elements are replaced by their content. */
const INLINE = tags(`
	a b strong em i mark u s strike del code kbd samp tt var q br wbr img input select option textarea audio video sub
	sup`);
const BLOCKS = tags(`
	html body p div section article aside main nav address center fieldset figcaption figure form header footer hgroup
	legend details summary blockquote h1 h2 h3 h4 h5 h6 hr li ol ul dir menu dl dt dd table caption thead tbody tfoot tr
	td th pre listing plaintext xmp`);
const PREFORMATTED = tags("pre listing plaintext xmp");
const INLINE_CODE = tags("code kbd samp tt var");
/** Each of these indents or quotes every line inside it. */
const INDENTING = tags("li dd dt blockquote");
const TABLE_PARTS = tags("caption thead tbody tfoot tr td th");
/** Formatting by tag. An element inside another with the same formatting is replaced by its content. */
const MARKS: ReadonlyMap<string, string> = new Map([
	["b", "strong"],
	["strong", "strong"],
	["em", "em"],
	["i", "em"],
	["mark", "em"],
	["u", "em"],
	["s", "del"],
	["strike", "del"],
	["del", "del"],
	["q", "q"],
	["sub", "sub"],
	["sup", "sup"],
]);

/** Longer inline code becomes text: the search for a fence that it does not contain takes quadratic time. */
const MAX_INLINE_CODE = 2000;
const INDENT_CHARACTERS = 4;
const LANGUAGE = /^(?:language|lang)-([\w+#.-]{1,40})$/;

/** Characters that may need an escape, which costs more than other text. */
const SPECIAL = /[!#&()*+\-:<=>@[\\\]_`|~]/g;
const SPECIALS_PER_UNIT = 25;

interface Place {
	/** Number of surrounding list items and quotes. */
	indents: number;
	table: "none" | "rows" | "cell";
	marks: ReadonlySet<string>;
}

const START: Place = { indents: 0, table: "none", marks: new Set() };

interface CleanOptions {
	/** A selector chose the elements, so `head`, `header` and `footer` are kept. */
	selected: boolean;
	/** Base URL of relative links. */
	base: string | undefined;
	images: EmbeddedImages;
}

export function cleanHtml(nodes: readonly Nodes[], options: CleanOptions, work: Work): Root {
	return { type: "root", children: new Cleaner(options, work).content(nodes, START) };
}

class Cleaner {
	readonly #selected: boolean;
	readonly #links: Links;
	readonly #work: Work;
	/** Number of blocks so far. */
	#blocks = 0;

	constructor({ selected, base, images }: CleanOptions, work: Work) {
		this.#selected = selected;
		this.#links = new Links(base, images, work);
		this.#work = work;
	}

	/** Joins adjacent texts, because the library joins them slowly. */
	content(nodes: readonly Nodes[], place: Place): ElementContent[] {
		const cleaned: ElementContent[] = [];
		for (const node of nodes)
			for (const child of this.#node(node, place)) {
				const before = cleaned.at(-1);
				if (child.type === "text" && before?.type === "text") before.value += child.value;
				else cleaned.push(child);
			}
		return cleaned;
	}

	#node(node: Nodes, place: Place): ElementContent[] {
		if (node.type === "text") {
			this.#spendText(node.value, place);
			return [text(node.value)];
		}
		if (node.type !== "element") return "children" in node ? this.content(node.children, place) : [];
		const { tagName } = node;
		if (IGNORED.has(tagName) || (!this.#selected && AROUND_CONTENT.has(tagName))) return [];
		if (BLOCKS.has(tagName)) {
			this.#work.spendCharacters(place.indents * INDENT_CHARACTERS);
			return place.table === "cell" ? this.#lines(node, place) : this.#block(node, place);
		}
		return this.#inline(node, place);
	}

	#spendText(value: string, { indents }: Place): void {
		this.#work.spend((value.length - value.replace(SPECIAL, "").length) / SPECIALS_PER_UNIT);
		// Each level of lists and quotes writes the text again.
		this.#work.spendCharacters((value.length * indents) / INDENT_CHARACTERS);
	}

	#inline(node: Element, place: Place): ElementContent[] {
		const { tagName, properties } = node;
		if (tagName === "img") return this.#links.image(properties);
		if (INLINE_CODE.has(tagName)) {
			const code = preformatted(node);
			this.#spendText(code, place);
			return [code.length > MAX_INLINE_CODE ? text(code) : element("code", {}, [text(code)])];
		}
		if (tagName === "a") return this.#link(node, place);
		const mark = MARKS.get(tagName);
		if (mark && place.marks.has(mark)) return this.content(node.children, place);
		const inside = mark ? { ...place, marks: new Set([...place.marks, mark]) } : place;
		const children = this.content(node.children, inside);
		if (!INLINE.has(tagName)) return children;
		if (tagName === "audio" || tagName === "video") {
			const href = this.#links.absolute(properties.src ?? sourceOf(node));
			return href ? [element(tagName, { src: href }, children)] : children;
		}
		if (tagName === "input") {
			const { type, checked, value, placeholder } = properties;
			return [element(tagName, { type, checked: checked !== undefined, value, placeholder }, [])];
		}
		if (tagName === "select" || tagName === "option") {
			const { multiple, selected } = properties;
			const state = { multiple: multiple !== undefined, selected: selected !== undefined };
			return [element(tagName, state, children)];
		}
		return [element(tagName, {}, children)];
	}

	/** In Markdown, each block inside a link repeats the link. */
	#link({ properties, children }: Element, place: Place): ElementContent[] {
		const before = this.#blocks;
		const content = this.content(children, place);
		return this.#links.link(properties, content, 1 + this.#blocks - before);
	}

	#block(node: Element, place: Place): ElementContent[] {
		this.#blocks++;
		const { tagName, properties } = node;
		if (PREFORMATTED.has(tagName)) return [this.#pre(node, place)];
		if (tagName === "table") return this.#table(node, place);
		if (place.table === "none" && TABLE_PARTS.has(tagName))
			return [element("div", {}, this.content(node.children, place))];
		if (tagName === "td" || tagName === "th") {
			const cell = this.content(node.children, { ...place, table: "cell" });
			return [element(tagName, cellSpans(properties), trimBreaks(cell))];
		}
		const inside = INDENTING.has(tagName) ? { ...place, indents: place.indents + 1 } : place;
		const children = this.content(node.children, inside);
		if (tagName === "ol") return [element("ol", { start: boundedStart(properties.start) }, children)];
		return [element(tagName === "menu" ? "ul" : tagName === "details" ? "div" : tagName, {}, children)];
	}

	#table(node: Element, place: Place): ElementContent[] {
		if (isLayout(node, this.#work))
			return [element("div", {}, this.content(node.children, { ...place, table: "none" }))];
		const caption = node.children.find((child) => child.type === "element" && child.tagName === "caption");
		const rows = node.children.filter((child) => child !== caption);
		const table = element("table", {}, this.content(rows, { ...place, table: "rows" }));
		return caption && "children" in caption
			? [element("p", {}, this.content(caption.children, place)), table]
			: [table];
	}

	/** Converts a block inside a table cell: a cell is one line, so line breaks surround the block's content. */
	#lines(node: Element, place: Place): ElementContent[] {
		const content = PREFORMATTED.has(node.tagName)
			? [element("code", {}, [text(preformatted(node).replace(/\s+/g, " ").trim())])]
			: node.tagName === "tr"
				? this.#innerRow(node, place)
				: this.content(node.children, place);
		return [lineBreak(), ...content, lineBreak()];
	}

	/** A row of a table inside a cell becomes a line. */
	#innerRow({ children }: Element, place: Place): ElementContent[] {
		const cells = children.filter((child) => child.type === "element");
		return cells.flatMap((cell, index) => [
			...(index > 0 ? [text(" | ")] : []),
			...trimBreaks(this.content(cell.children, place)),
		]);
	}

	#pre(node: Element, place: Place): Element {
		const code = preformatted(node);
		const lines = code.split("\n").length;
		this.#work.spendCharacters((code.length / INDENT_CHARACTERS + lines * INDENT_CHARACTERS) * place.indents);
		const inner = node.children.find((child) => child.type === "element" && child.tagName === "code");
		const language = languageOf(inner) ?? languageOf(node);
		const className = language ? [`language-${language}`] : [];
		return element("pre", {}, [element("code", { className }, [text(code)])]);
	}
}

const text = (value: string): ElementContent => ({ type: "text", value });
const lineBreak = (): Element => element("br", {}, []);
const element = (tagName: string, properties: Properties, children: ElementContent[]): Element => ({
	type: "element",
	tagName,
	properties,
	children,
});

/** Removes line breaks at the ends of a cell and repeated ones. */
function trimBreaks(content: ElementContent[]): ElementContent[] {
	const isBreak = (node: ElementContent | undefined): boolean =>
		node?.type === "element" && node.tagName === "br";
	const isBlank = (node: ElementContent): boolean => node.type === "text" && node.value.trim() === "";
	const kept: ElementContent[] = [];
	for (const node of content)
		if (
			isBlank(node)
				? kept.length > 0 && !isBreak(kept.at(-1))
				: !isBreak(node) || (kept.length > 0 && !isBreak(kept.at(-1)))
		)
			kept.push(node);
	while (kept.length > 0 && (isBreak(kept.at(-1)) || isBlank(kept.at(-1) ?? lineBreak()))) kept.pop();
	return kept;
}

/** The preformatted text of an element. Blocks in it (many highlighters use one per line) end in a line break. */
function preformatted(node: Nodes): string {
	if (node.type === "text") return node.value;
	if (!("children" in node)) return "";
	if (node.type === "element" && node.tagName === "br") return "\n";
	const inner = node.children.map(preformatted).join("");
	const isLine = node.type === "element" && BLOCKS.has(node.tagName) && !PREFORMATTED.has(node.tagName);
	return isLine && inner !== "" && !inner.endsWith("\n") ? `${inner}\n` : inner;
}

function languageOf(node: Nodes | undefined): string | undefined {
	if (node?.type !== "element") return undefined;
	return classNames(node.properties)
		.map((name) => LANGUAGE.exec(name)?.[1])
		.find(Boolean);
}

function sourceOf(node: Element): Properties[string] {
	const source = node.children.find((child) => child.type === "element" && child.tagName === "source");
	return source?.type === "element" ? source.properties.src : undefined;
}

/** List numbers in CommonMark have at most nine digits and no sign. */
const boundedStart = (start: Properties[string]): number | undefined => {
	const value = Number(start);
	return Number.isInteger(value) && value >= 0 && value <= 999_999_999 ? value : undefined;
};
