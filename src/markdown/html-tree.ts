/**
 * Builds the tree of a page by the rules of the HTML standard ("Tree construction"): elements that start or end without a tag, content of
 * a table outside its cells, formatting that ends in the wrong order. `docs/choices.md` lists what differs.
 */
import type { Element, Root } from "hast";
import { OpenElements, refuseDepth } from "./html-elements.ts";
import { endFormatting, endLink, remember, reopen } from "./html-formatting.ts";
import {
	AROUND_CELLS,
	BLOCKS,
	BUTTON_SCOPES,
	CELL_SCOPES,
	COLUMNS,
	ENDED_BY,
	ENDS_FOREIGN,
	FOREIGN,
	FORM,
	FORMATTING,
	HEADINGS,
	IMPLIED,
	IN_HEAD,
	LIST_ITEM_SCOPES,
	NEVER_FORMATTED,
	NONE,
	OPTIONS,
	PAGE,
	PARAGRAPH,
	RAW,
	SCOPES,
	SECTIONS,
	SPECIAL,
	STARTS_WITH_NEWLINE,
	TABLE,
	TABLE_PARTS,
	TABLE_SCOPES,
	type Tags,
	TEMPLATE,
	VOID,
} from "./html-rules.ts";
import type { Work } from "./work.ts";

const SPACE = /^[ \t\n\f\r]*$/;
const LEADING_SPACE = /^[ \t\n\f\r]+/;

export type Attributes = Record<string, string>;

export class HtmlTree {
	readonly #elements: OpenElements;
	#body: Element | undefined;
	/** The open form: another cannot start inside. */
	#form: Element | undefined;
	#skipNewline = false;

	constructor(work: Work) {
		this.#elements = new OpenElements(work);
		this.#elements.insert("head", {});
	}

	/** The page, at its end. */
	finish(): Root {
		this.#elements.popTo(1);
		if (!this.#body) this.#startBody({});
		const children = [this.#elements.html];
		refuseDepth(children);
		return { type: "root", children };
	}

	get isForeign(): boolean {
		return this.#elements.isForeign;
	}

	get #isInHead(): boolean {
		return !this.#body && this.#elements.find(TEMPLATE, NONE) === -1;
	}

	get #name(): string {
		return this.#elements.current.tagName;
	}

	text(text: string): void {
		const isRaw = RAW.has(this.#name);
		const visible = this.#skipNewline && text.startsWith("\n") ? text.slice(1) : text;
		const value = this.#isInHead && !isRaw ? visible.replace(LEADING_SPACE, "") : visible;
		this.#skipNewline = false;
		if (value === "") return;
		if (!SPACE.test(value)) this.#endColumns();
		const isKept = isRaw || (AROUND_CELLS.has(this.#name) && SPACE.test(value));
		if (!isKept) {
			if (this.#isInHead) this.#startBody({});
			reopen(this.#elements);
		}
		this.#elements.insertText(value, !isKept);
	}

	open(name: string, attributes: Attributes, selfClosing: boolean): void {
		this.#skipNewline = false;
		if (this.isForeign && !ENDS_FOREIGN.has(name)) {
			this.#elements.insert(name, attributes, selfClosing);
			return;
		}
		while (this.isForeign) this.#elements.pop();
		if (name === "html") addAttributes(this.#elements.html, attributes);
		else if (name === "body") this.#startBody(attributes);
		else if (this.#isInHead && IN_HEAD.has(name)) this.#elements.insert(name, attributes);
		else if (name !== "head") {
			if (this.#isInHead) this.#startBody({});
			this.#openInBody(name === "image" ? "img" : name, attributes);
		}
	}

	#openInBody(name: string, attributes: Attributes): void {
		if (name === "form" && this.#form) return;
		if (TABLE_PARTS.has(name) && !this.#startTablePart(name)) return;
		if (name !== "col" && name !== "template") this.#endColumns();
		if (BLOCKS.has(name)) this.#elements.end(PARAGRAPH, BUTTON_SCOPES);
		if (HEADINGS.has(name) && HEADINGS.has(this.#name)) this.#elements.pop();
		if (OPTIONS.has(name) && this.#name === "option") this.#elements.pop();
		const ended = ENDED_BY.get(name);
		if (ended) this.#elements.end(...ended);
		if (name === "a") endLink(this.#elements);
		const isInTable = this.#elements.find(AROUND_CELLS, CELL_SCOPES) !== -1;
		if (name === "table" && isInTable) this.#elements.end(TABLE, TABLE_SCOPES);
		if (!NEVER_FORMATTED.has(name)) reopen(this.#elements);
		const element = this.#elements.insert(name, attributes);
		if (name === "form") {
			this.#form = element;
			if (isInTable) this.#elements.pop();
		}
		if (FORMATTING.has(name)) remember(this.#elements, element);
		this.#skipNewline = STARTS_WITH_NEWLINE.has(name);
	}

	#endColumns(): void {
		if (this.#name === "colgroup") this.#elements.pop();
	}

	close(name: string): void {
		this.#skipNewline = false;
		const end = (scopes: Tags, names: Tags = new Set([name])) => this.#elements.end(names, scopes);
		if (name !== "colgroup") this.#endColumns();
		if (this.isForeign) {
			const at = this.#elements.find(new Set([name]), FOREIGN);
			if (at !== -1) {
				this.#elements.popTo(at);
				return;
			}
			if (name === "p" || name === "br") while (this.isForeign) this.#elements.pop();
		}
		if (name === "br") this.open("br", {}, false);
		else if (name === "p") {
			if (!this.#isInHead && this.#elements.find(PARAGRAPH, BUTTON_SCOPES) === -1) this.open("p", {}, false);
			end(BUTTON_SCOPES);
		} else if (name === "form") this.#closeForm();
		else if (HEADINGS.has(name)) end(SCOPES, HEADINGS);
		else if (FORMATTING.has(name)) endFormatting(this.#elements, name);
		else if (name === "table" || TABLE_PARTS.has(name)) end(TABLE_SCOPES);
		else if (name === "li") end(LIST_ITEM_SCOPES);
		else if (!SPECIAL.has(name)) end(SPECIAL);
		else if (!PAGE.has(name) && !VOID.has(name)) end(SCOPES);
	}

	#closeForm(): void {
		const { open } = this.#elements;
		const isOpen = this.#form && this.#elements.find(FORM, SCOPES) !== -1;
		if (isOpen) while (IMPLIED.has(this.#name)) this.#elements.pop();
		const at = isOpen && this.#form ? open.lastIndexOf(this.#form) : -1;
		this.#form = undefined;
		// What is open inside stays open.
		if (at > 0) open.splice(at, 1);
	}

	#startBody(attributes: Attributes): void {
		if (this.#body) {
			addAttributes(this.#body, attributes);
			return;
		}
		this.#elements.popTo(1);
		this.#body = this.#elements.insert("body", attributes);
	}

	/** Ends and starts what must be around a part of a table. False: there is no table. */
	#startTablePart(name: string): boolean {
		const elements = this.#elements;
		if (elements.find(TABLE, TABLE_SCOPES) === -1) return false;
		const isCell = name === "td" || name === "th";
		const isInSection = isCell || name === "tr";
		elements.backTo(isCell ? AROUND_CELLS : isInSection ? SECTIONS : name === "col" ? COLUMNS : TABLE);
		if (isInSection && this.#name === "table") elements.insert("tbody", {});
		if (isCell && this.#name !== "tr") elements.insert("tr", {});
		if (name === "col" && this.#name === "table") elements.insert("colgroup", {});
		return true;
	}
}

function addAttributes({ properties }: Element, attributes: Attributes): void {
	for (const [name, value] of Object.entries(attributes)) properties[name] ??= value;
}
