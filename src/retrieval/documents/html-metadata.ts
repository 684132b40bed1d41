/** Reads the metadata of a page: title, description, image, base URL and JSON-LD. */
import type { Element, Root } from "hast";
import type { Work } from "./work.ts";

interface Metadata {
	title: string | undefined;
	description: string | undefined;
	image: string | undefined;
	/** `href` of the first `<base>` that has one. */
	base: string | undefined;
	/** The scripts as written in the page. */
	jsonLd: string[];
}

/** The page's own elements take precedence over those for social networks (`og:`). */
const TITLE = ["title", "og:title"];
const DESCRIPTION = ["description", "og:description"];
const IMAGE = ["og:image"];
const NAMES: ReadonlySet<string> = new Set([...TITLE, ...DESCRIPTION, ...IMAGE]);

export function metadataOf(tree: Root, work: Work): Metadata {
	const values = new Map<string, string>();
	const jsonLd: string[] = [];
	const record = (name: string, value: string): void => {
		const text = value.replace(/\s+/g, " ").trim();
		if (!text || values.has(name)) return;
		work.spendCharacters(text.length);
		values.set(name, text);
	};
	const visit = (node: Element | Root): void => {
		for (const child of node.children) {
			if (child.type !== "element" || child.tagName === "svg") continue;
			const { name, property, content, href, type } = child.properties;
			if (child.tagName === "title") record("title", textOf(child));
			else if (child.tagName === "meta") {
				const key = String(property ?? name ?? "").toLowerCase();
				if (NAMES.has(key)) record(key, String(content ?? ""));
			} else if (child.tagName === "base" && href) record("base", String(href));
			else if (child.tagName === "script" && /^application\/ld\+json\b/i.test(String(type ?? ""))) {
				const text = textOf(child).trim();
				work.spendCharacters(text.length);
				if (text) jsonLd.push(text);
			} else visit(child);
		}
	};
	visit(tree);
	const first = (keys: readonly string[]): string | undefined =>
		keys.map((key) => values.get(key)).find((value) => value !== undefined);
	return {
		title: first(TITLE),
		description: first(DESCRIPTION),
		image: first(IMAGE),
		base: values.get("base"),
		jsonLd,
	};
}

const textOf = (element: Element): string =>
	element.children.map((child) => (child.type === "text" ? child.value : "")).join("");

/** `title`, `description` and `image` as YAML, or as lines of plain text. Empty if the page has none of them. */
export function frontMatter({ title, description, image }: Metadata, isYaml: boolean): string {
	const fields = Object.entries({ title, description, image }).flatMap(([key, value]) =>
		value === undefined ? [] : [`${key}: ${isYaml ? yaml(value) : value}\n`],
	);
	if (fields.length === 0) return "";
	return isYaml ? `---\n${fields.join("")}---\n\n` : `${fields.join("")}\n`;
}

/** A plain scalar if YAML reads it as the same text, else a JSON string, which is valid YAML. */
const yaml = (value: string): string =>
	/^\p{L}/u.test(value) && !/: | #|:$|^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value)
		? value
		: JSON.stringify(value);
