/**
 * Converts XML to an outline that keeps text and structure without the tags: one list item per element, with its attributes
 * in parentheses, its text after the name, and its child elements indented. Tags inside running text are removed.
 */
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { escapeMarkdown } from "./escape.ts";
import type { Converter } from "./options.ts";
import { ConversionFailure } from "./work.ts";

/** An element in document order, in the format of the parser's `preserveOrder`: `{name: children, ":@": attributes}`. */
type Node = { [name: string]: Node[] | string | Attributes | undefined };
type Attributes = Record<string, string>;

const TEXT = "#text";
const ATTRIBUTES = ":@";
const MAX_DEPTH = 100;
const TAGS_PER_UNIT = 20;
const ATTRIBUTES_PER_UNIT = 10;

const parser = (): XMLParser =>
	new XMLParser({
		preserveOrder: true,
		ignoreAttributes: false,
		attributeNamePrefix: "",
		parseTagValue: false,
		parseAttributeValue: false,
		trimValues: false,
		ignoreDeclaration: true,
		ignorePiTags: true,
		maxNestedTags: MAX_DEPTH,
	});

const STYLES = {
	markdown: {
		bullet: "- ",
		nameOf: (name: string) => `**${escapeMarkdown(name)}**`,
		escaped: escapeMarkdown,
	},
	text: { bullet: "", nameOf: String, escaped: String },
};

export const convertXml: Converter = (text, { format, work }) => {
	const { bullet, nameOf, escaped } = STYLES[format];
	const item = (depth: number, name: string, notes: string, content: string): string =>
		`${"  ".repeat(depth)}${bullet}${name && nameOf(name)}${escaped(notes)}${name && content && ": "}${escaped(content)}\n`;
	const lines: string[] = [];
	const write = (node: Node, depth: number): void => {
		const name = Object.keys(node).find((key) => key !== ATTRIBUTES) ?? TEXT;
		const content = node[name];
		if (typeof content === "string") {
			const line = collapse(content);
			if (line) lines.push(item(depth, "", "", line));
			return;
		}
		const children = Array.isArray(content) ? content : [];
		const inline = children.some(isText) && !children.some((child) => elementsOf(child).length > 0);
		lines.push(item(depth, name, notesOf(node), inline ? collapse(textOf(children)) : ""));
		if (!inline) for (const child of children) write(child, depth + 1);
	};
	work.spend(count(text, "<") / TAGS_PER_UNIT + count(text, "=") / ATTRIBUTES_PER_UNIT);
	for (const node of parse(text)) write(node, 0);
	return lines.join("");
};

function parse(text: string): Node[] {
	const valid = XMLValidator.validate(text);
	if (valid !== true) {
		const { line, col } = valid.err as { line?: number; col?: number };
		const place = line && col ? `: line ${line}, column ${col}` : "";
		throw new ConversionFailure(`The XML is not well-formed${place}`);
	}
	try {
		return parser().parse(text);
	} catch (cause) {
		// The parser's own message may quote the file.
		const deep = cause instanceof Error && /nested tags/i.test(cause.message);
		throw new ConversionFailure(
			deep ? `The XML is nested deeper than ${MAX_DEPTH} elements` : "The XML cannot be read",
			{ cause },
		);
	}
}

function notesOf(node: Node): string {
	const attributes = node[ATTRIBUTES];
	if (typeof attributes !== "object" || Array.isArray(attributes)) return "";
	const notes = Object.entries(attributes)
		.filter(([name]) => name !== "xmlns" && !name.startsWith("xmlns:"))
		.map(([name, value]) => `${name}: ${collapse(String(value))}`);
	return notes.length > 0 ? ` (${notes.join(", ")})` : "";
}

const isText = (node: Node): boolean => {
	const text = node[TEXT];
	return typeof text === "string" && text.trim() !== "";
};

const elementsOf = (node: Node): Node[] =>
	Object.entries(node).flatMap(([name, content]) =>
		name !== ATTRIBUTES && Array.isArray(content) ? content.filter((child) => !(TEXT in child)) : [],
	);

/** The text of all descendants. The parser bounds the depth. */
const textOf = (nodes: readonly Node[]): string =>
	nodes
		.flatMap((node) => Object.entries(node))
		.map(([name, content]) =>
			typeof content === "string"
				? content
				: name !== ATTRIBUTES && Array.isArray(content)
					? textOf(content)
					: "",
		)
		.join("");

const count = (text: string, character: string): number => text.split(character).length - 1;

const collapse = (text: string): string => text.replace(/\s+/g, " ").trim();
