/**
 * Converts XML to an outline that keeps text and structure without the tags: one list item per element, with its attributes
 * in parentheses, its text after the name, and its child elements indented. Tags inside running text are removed.
 */
import { parseXml, XmlElement, XmlError, type XmlNode, XmlText } from "@rgrove/parse-xml";
import { decodeText } from "./decode.ts";
import { escapeMarkdown } from "./escape.ts";
import type { KindConverter } from "./opened-file.ts";
import { ConversionFailure, type Work } from "./work.ts";

const MAX_DEPTH = 100;
const TAGS_PER_UNIT = 20;
const ATTRIBUTES_PER_UNIT = 10;

const STYLES = {
	markdown: {
		bullet: "- ",
		nameOf: (name: string) => `**${escapeMarkdown(name)}**`,
		escaped: escapeMarkdown,
	},
	text: { bullet: "", nameOf: String, escaped: String },
};

export const convertXml: KindConverter = ({ bytes, sentType, format, work }) => {
	work.spendCharacters(bytes.length);
	const text = decodeText(bytes, sentType);
	const { bullet, nameOf, escaped } = STYLES[format];
	const item = (depth: number, name: string, notes: string, content: string): string =>
		`${"  ".repeat(depth)}${bullet}${name && nameOf(name)}${escaped(notes)}${name && content && ": "}${escaped(content)}\n`;
	const lines: string[] = [];
	const write = (element: XmlElement, depth: number): void => {
		if (depth >= MAX_DEPTH) throw tooDeep();
		const { children, text } = element;
		const inline =
			children.some(isWord) && !children.some((child) => isElement(child) && child.children.some(isElement));
		lines.push(item(depth, element.name, notesOf(element), inline ? collapse(text) : ""));
		if (inline) return;
		for (const child of children)
			if (isElement(child)) write(child, depth + 1);
			else if (isWord(child)) lines.push(item(depth + 1, "", "", collapse(child.text)));
	};
	work.spend(count(text, "<") / TAGS_PER_UNIT + count(text, "=") / ATTRIBUTES_PER_UNIT);
	write(parse(text, work), 0);
	return lines.join("");
};

const isElement = (node: XmlNode): node is XmlElement => node instanceof XmlElement;
const isWord = (node: XmlNode): node is XmlText => node instanceof XmlText && node.text.trim() !== "";

function parse(text: string, work: Work): XmlElement {
	try {
		const { root } = parseXml(text, { resolveUndefinedEntity: entitiesOf(text, work) });
		if (root) return root;
	} catch (cause) {
		if (cause instanceof ConversionFailure) throw cause;
		// The parser calls itself for each level.
		if (cause instanceof RangeError) throw tooDeep();
		if (!(cause instanceof XmlError)) throw cause;
		const { line, column } = cause;
		throw new ConversionFailure(`The XML is not well-formed: line ${line}, column ${column}`, { cause });
	}
	throw new ConversionFailure("The XML is not well-formed");
}

const tooDeep = (): ConversionFailure =>
	new ConversionFailure(`The XML is nested deeper than ${MAX_DEPTH} elements`);

/**
 * The entities that the file declares. Those of other files and those that contain entities stay as they are written: ten entities
 * inside each other can become gigabytes.
 */
function entitiesOf(text: string, work: Work): (reference: string) => string {
	const declared = text.matchAll(/<!ENTITY\s+([^\s%]+)\s+(?:"([^"&]*)"|'([^'&]*)')\s*>/g);
	const values = new Map(
		[...declared].map(([, name, quoted, other]) => [`&${name};`, quoted ?? other ?? ""]),
	);
	return (reference) => {
		const value = values.get(reference) ?? reference;
		work.spendCharacters(value.length);
		return value;
	};
}

function notesOf({ attributes }: XmlElement): string {
	const notes = Object.entries(attributes)
		.filter(([name]) => name !== "xmlns" && !name.startsWith("xmlns:"))
		.map(([name, value]) => `${name}: ${collapse(value)}`);
	return notes.length > 0 ? ` (${notes.join(", ")})` : "";
}

const count = (text: string, character: string): number => text.split(character).length - 1;

const collapse = (text: string): string => text.replace(/\s+/g, " ").trim();
