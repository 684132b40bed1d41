/**
 * Opens the ZIP containers of office files. Parsers of these formats inflate all that a container has (200 KB can become 200 MB), so
 * they never receive the file itself, but a container of the needed parts, without compression, whose sizes are checked before.
 *
 * `fflate` inflates no more than the declared size of a part. A part that declares too little is cut off.
 */
import { unzipSync, type Zippable, zipSync } from "fflate";
import { ConversionFailure, type Work } from "./work.ts";

/** Bytes of all parts together. */
const MAX_INFLATED_BYTES = 24 * 1024 * 1024;
const MAX_PARTS = 2_000;
/** The parsers of texts make an object for each tag, of about a quarter of an element of HTML. */
const TAGS_PER_UNIT = 6;

const CFB_MAGIC = [0xd0, 0xcf, 0x11, 0xe0];
const LESS_THAN = 60;

export type Parts = Map<string, Uint8Array>;

const decoder = new TextDecoder("latin1");
export const startsWith = (bytes: Uint8Array, magic: readonly number[]): boolean =>
	magic.every((byte, index) => bytes[index] === byte);

/** `wanted`: of the names of the parts. Throws a `ConversionFailure`. */
export function openContainer(
	bytes: Uint8Array,
	wanted: (name: string) => boolean,
	work: Work,
	tagsPerUnit = TAGS_PER_UNIT,
): Parts {
	// Office keeps an encrypted document in a container of its old formats.
	if (startsWith(bytes, CFB_MAGIC)) throw new ConversionFailure(ENCRYPTED);
	let inflated = 0;
	let count = 0;
	let parts: Parts;
	try {
		const unzipped = unzipSync(bytes, {
			filter({ name, originalSize }) {
				if (++count > MAX_PARTS) throw new ConversionFailure(`The file has more than ${MAX_PARTS} parts`);
				if (!wanted(name)) return false;
				inflated += originalSize;
				if (inflated > MAX_INFLATED_BYTES) throw new ConversionFailure(TOO_LARGE);
				return true;
			},
		});
		parts = new Map(Object.entries(unzipped));
	} catch (error) {
		if (error instanceof ConversionFailure) throw error;
		throw new ConversionFailure("The file is damaged: it is not a complete ZIP container", { cause: error });
	}
	for (const [name, part] of parts) if (/\.(?:xml|rels|vml)$/i.test(name)) checkXml(part, work, tagsPerUnit);
	return parts;
}

const TOO_LARGE = `The file is larger than ${MAX_INFLATED_BYTES / 1024 / 1024} MB when it is unpacked`;
export const ENCRYPTED = "The file is encrypted";

/** Spends the cost of its tags. Office files have no DTD: one can only declare entities that expand. */
function checkXml(part: Uint8Array, work: Work, tagsPerUnit: number): void {
	let tags = 0;
	for (let at = part.indexOf(LESS_THAN); at >= 0; at = part.indexOf(LESS_THAN, at + 1)) {
		tags++;
		// `<!D` of DOCTYPE, in any encoding of ASCII.
		if (part[at + 1] === 0x21 && (part[at + 2] === 0x44 || part[at + 2] === 0x64))
			throw new ConversionFailure("The file has a document type definition, which office files cannot have");
	}
	work.spend(tags / tagsPerUnit);
}

export const isEncryptedOpenDocument = (parts: Parts): boolean =>
	decoder.decode(parts.get("META-INF/manifest.xml") ?? new Uint8Array()).includes("encryption-data");

/** A container without compression. */
export function closeContainer(parts: Parts): Uint8Array<ArrayBuffer> {
	const files: Zippable = Object.fromEntries(parts);
	return zipSync(files, { level: 0 });
}
