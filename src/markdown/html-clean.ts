/**
 * A page's tree made ready for Markdown: what is not content goes, links become absolute, and what Markdown cannot
 * say is said otherwise. A new tree; the given one stays.
 *
 * What the product removes: scripts, styles, and, where no selector picks the content, the page's head, headers and
 * footers. Tables that only lay a page out are taken apart; blocks in the cells of the others become lines.
 */
import type { Element, ElementContent, Nodes, Properties, Root } from "hast";
import { Links } from "./html-links.ts";
import { cellSpans, isLayout } from "./html-table.ts";
import type { Work } from "./work.ts";

const tags = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/));

const IGNORED = tags(`
	script style template noscript svg math object embed applet canvas map area param source track base link meta title
	datalist`);
const AROUND_CONTENT = tags("head header footer");
/** Elements that Markdown says something about; of all others only the content counts. */
const INLINE = tags(`
	a b strong em i mark u s strike del code kbd samp tt var q br wbr img input select option textarea audio video sub
	sup`);
const BLOCKS = tags(`
	html body p div section article aside main nav address center fieldset figcaption figure form header footer hgroup
	legend details summary blockquote h1 h2 h3 h4 h5 h6 hr li ol ul dir menu dl dt dd table caption thead tbody tfoot tr
	td th pre listing plaintext xmp`);
const PREFORMATTED = tags("pre listing plaintext xmp");
const INLINE_CODE = tags("code kbd samp tt var");
/** Lines inside are indented or quoted, once for each. */
const INDENTING = tags("li dd dt blockquote");
const TABLE_PARTS = tags("caption thead tbody tfoot tr td th");
/** Inside one of its kind, each says nothing more. */
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

/** Longer ones are text: looking for a fence that they do not contain costs their square. */
const MAX_INLINE_CODE = 2000;
const INDENT_CHARACTERS = 4;
const LANGUAGE = /^(?:language|lang)-([\w+#.-]{1,40})$/;

/** What Markdown may have to escape, which costs more than other text. */
const SPECIAL = /[!#&()*+\-:<=>@[\\\]_`|~]/g;
const SPECIALS_PER_UNIT = 25;

interface Place {
	/** How many list items and quotes are around. */
	indents: number;
	table: "none" | "rows" | "cell";
	marks: ReadonlySet<string>;
}

const START: Place = { indents: 0, table: "none", marks: new Set() };

export interface CleanOptions {
	/** `head`, `header` and `footer` stay: a selector has picked what is wanted. */
	selected: boolean;
	/** What relative links are relative to. */
	base: string | undefined;
}

export function cleanHtml(nodes: readonly Nodes[], options: CleanOptions, work: Work): Root {
	return { type: "root", children: new Cleaner(options, work).content(nodes, START) };
}

class Cleaner {
	readonly #selected: boolean;
	readonly #links: Links;
	readonly #work: Work;
	/** How many were met so far. */
	#blocks = 0;

	constructor({ selected, base }: CleanOptions, work: Work) {
		this.#selected = selected;
		this.#links = new Links(base, work);
		this.#work = work;
	}

	/** Neighbouring texts become one: the library is slow to join them. */
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
			const words = preformatted(node);
			this.#spendText(words, place);
			return [words.length > MAX_INLINE_CODE ? text(words) : element("code", {}, [text(words)])];
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
			return [element(tagName, { type, checked, value, placeholder }, [])];
		}
		return [element(tagName, {}, children)];
	}

	/** Blocks inside a link hold the link each, in Markdown. */
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

	/** A block inside a cell, which holds one line: its content, set off by line breaks. */
	#lines(node: Element, place: Place): ElementContent[] {
		const content = PREFORMATTED.has(node.tagName)
			? [element("code", {}, [text(preformatted(node).replace(/\s+/g, " ").trim())])]
			: this.content(node.children, place);
		return [lineBreak(), ...content, lineBreak()];
	}

	#pre(node: Element, place: Place): Element {
		const words = preformatted(node);
		const lines = words.split("\n").length;
		this.#work.spendCharacters(
			(words.length / INDENT_CHARACTERS + lines * INDENT_CHARACTERS) * place.indents,
		);
		const inner = node.children.find((child) => child.type === "element" && child.tagName === "code");
		const language = languageOf(inner) ?? languageOf(node);
		const className = language ? [`language-${language}`] : [];
		return element("pre", {}, [element("code", { className }, [text(words)])]);
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

/** Breaks at the ends of a cell, and beside each other, set nothing off. */
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

/** The text of an element as it stands; blocks in it (a line each, in many highlighters) end in a line break. */
function preformatted(node: Nodes): string {
	if (node.type === "text") return node.value;
	if (!("children" in node)) return "";
	if (node.type === "element" && node.tagName === "br") return "\n";
	const inner = node.children.map(preformatted).join("");
	const isLine = node.type === "element" && BLOCKS.has(node.tagName) && !PREFORMATTED.has(node.tagName);
	return isLine && inner !== "" && !inner.endsWith("\n") ? `${inner}\n` : inner;
}

function languageOf(node: Nodes | undefined): string | undefined {
	if (node?.type !== "element" || !Array.isArray(node.properties.className)) return undefined;
	return node.properties.className.map((name) => LANGUAGE.exec(String(name))?.[1]).find(Boolean);
}

function sourceOf(node: Element): Properties[string] {
	const source = node.children.find((child) => child.type === "element" && child.tagName === "source");
	return source?.type === "element" ? source.properties.src : undefined;
}

/** CommonMark's list numbers have nine digits at most, and no sign. */
const boundedStart = (start: Properties[string]): number | undefined => {
	const value = Number(start);
	return Number.isInteger(value) && value >= 0 && value <= 999_999_999 ? value : undefined;
};
