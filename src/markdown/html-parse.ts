/**
 * Parses HTML to a hast tree of its elements and texts. htmlparser2 reads the tokens; `html-tree.ts` builds the tree of them.
 * Properties have the names of the attributes in lower case, and their values as written.
 */
import type { Root } from "hast";
import { Tokenizer } from "htmlparser2";
import { HtmlTree } from "./html-tree.ts";
import type { Work } from "./work.ts";

export function parseHtml(html: string, work: Work): Root {
	const text = html.replace(/\r\n?/g, "\n");
	const tree = new HtmlTree(work);
	let tag = "";
	const attributes = new Map<string, string>();
	let name = "";
	let value = "";
	const slice = (start: number, end: number): string => text.slice(start, end);
	const lower = (start: number, end: number): string => slice(start, end).toLowerCase();
	const endOpenTag = (selfClosing: boolean): void => {
		tree.open(tag, Object.fromEntries(attributes), selfClosing);
		attributes.clear();
	};
	const tokenizer = new Tokenizer(
		{},
		{
			isInForeignContext: () => tree.isForeign,
			ontext: (start, end) => tree.text(slice(start, end)),
			ontextentity: (code) => tree.text(String.fromCodePoint(code)),
			onopentagname(start, end) {
				tag = lower(start, end);
			},
			onattribname(start, end) {
				name = lower(start, end);
				value = "";
			},
			onattribdata(start, end) {
				value += slice(start, end);
			},
			onattribentity(code) {
				value += String.fromCodePoint(code);
			},
			onattribend() {
				if (!attributes.has(name)) attributes.set(name, value);
			},
			onopentagend: () => endOpenTag(false),
			onselfclosingtag: () => endOpenTag(true),
			onclosetag: (start, end) => tree.close(lower(start, end)),
			oncomment: () => work.spend(1),
			oncdata(start, end, offset) {
				// Outside of SVG and MathML it is a comment.
				if (tree.isForeign) tree.text(slice(start, end - offset));
			},
			ondeclaration: () => {},
			onprocessinginstruction: () => {},
			onend: () => {},
		},
	);
	tokenizer.write(text);
	tokenizer.end();
	return tree.finish();
}
