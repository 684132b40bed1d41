/** Sitemaps (sitemaps.org/protocol.html): lists of pages, and lists of sitemaps; as XML, also packed by gzip, or as lines of text. */
import { parseXml, XmlElement, XmlError } from "@rgrove/parse-xml";
import { decodeUtf8 } from "../../../media/utf8.ts";
import { boundedBytes } from "../../../outbound/bounded-text.ts";

/** As it is sent, and unpacked. The protocol allows 50 MB, which does not fit into an isolate with its parsed form. */
export const SITEMAP_BYTES = 8 * 1_024 * 1_024;
/** The protocol's. */
const MAX_ENTRIES = 50_000;

export interface Sitemap {
	/** The entries are sitemaps. */
	isIndex: boolean;
	addresses: string[];
}

/** `undefined`: it is no sitemap, or too large. */
export async function sitemapOf(bytes: Uint8Array): Promise<Sitemap | undefined> {
	const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
	const content = isPacked ? await unpacked(bytes) : bytes;
	if (!content) return undefined;
	const text = decodeUtf8(content);
	return text.trimStart().startsWith("<") ? fromXml(text) : fromLines(text);
}

async function unpacked(bytes: Uint8Array): Promise<Uint8Array | undefined> {
	const body = new Response(bytes as Uint8Array<ArrayBuffer>).body;
	if (!body) return undefined;
	try {
		return await boundedBytes(body.pipeThrough(new DecompressionStream("gzip")), SITEMAP_BYTES);
	} catch {
		return undefined;
	}
}

function fromXml(text: string): Sitemap | undefined {
	let root: XmlElement | null;
	try {
		({ root } = parseXml(text, { ignoreUndefinedEntities: true }));
	} catch (thrown) {
		// The parser calls itself for each level.
		if (thrown instanceof XmlError || thrown instanceof RangeError) return undefined;
		throw thrown;
	}
	const name = root?.name.replace(/^.*:/, "");
	if (!root || (name !== "urlset" && name !== "sitemapindex")) return undefined;
	const addresses: string[] = [];
	for (const entry of elementsOf(root)) {
		const location = elementsOf(entry).find((child) => /^(?:[^:]*:)?loc$/.test(child.name));
		if (location) addresses.push(location.text.trim());
		if (addresses.length === MAX_ENTRIES) break;
	}
	return { isIndex: name === "sitemapindex", addresses };
}

const elementsOf = ({ children }: XmlElement): XmlElement[] =>
	children.filter((child): child is XmlElement => child instanceof XmlElement);

function fromLines(text: string): Sitemap | undefined {
	const lines = text.split(/\r?\n/).map((line) => line.trim());
	const addresses = lines.filter((line) => /^https?:\/\//i.test(line)).slice(0, MAX_ENTRIES);
	return addresses.length > 0 ? { isIndex: false, addresses } : undefined;
}
