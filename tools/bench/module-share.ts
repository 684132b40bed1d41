/** What some modules of the sources add to an upload, by the source maps of the build. */
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { decode } from "@jridgewell/sourcemap-codec";
import type { Modules } from "./modules.ts";

/**
 * Bytes with gzip: of the upload, less those of the upload without what `counts` selects by the path of a source file. The modules are in the order
 * of their sizes: by their names, which have hashes of the contents, any change of another module could change the result by 10%.
 */
export function shareOf(modules: Modules, counts: (source: string) => boolean): number {
	const complete: string[] = [];
	const others: string[] = [];
	const bySize = modules
		.map(({ file }) => ({ file, text: readFileSync(file, "latin1") }))
		.sort((a, b) => b.text.length - a.text.length);
	for (const { file, text } of bySize) {
		complete.push(text);
		others.push(existsSync(`${file}.map`) ? withoutSources(text, `${file}.map`, counts) : text);
	}
	return zipped(complete) - zipped(others);
}

const zipped = (texts: readonly string[]): number =>
	gzipSync(Buffer.from(texts.join(""), "latin1"), { level: 9 }).length;

/** `text`: one character for each byte. Columns of a map count UTF-16 units, which differ only after other characters than ASCII. */
function withoutSources(text: string, map: string, counts: (source: string) => boolean): string {
	const { mappings, sources }: { mappings: string; sources: string[] } = JSON.parse(
		readFileSync(map, "utf8"),
	);
	const lines = decode(mappings);
	return text
		.split("\n")
		.map((line, number) => {
			const segments = lines[number] ?? [];
			const [first] = segments;
			if (!first) return line;
			const kept = segments.map(([start, source], index) => {
				const name = source === undefined ? "" : (sources[source] ?? "");
				return counts(name) ? "" : line.slice(start, segments[index + 1]?.[0] ?? line.length);
			});
			return line.slice(0, first[0]) + kept.join("");
		})
		.join("\n");
}

/** The rooms of documents, vectors and AI Search, and what stands in their places. `config/left-out.ts` is about backends. */
export const isRetrieval = (source: string): boolean =>
	/\/src\/retrieval\/|\/surfaces\/(aisearch|vectorize|markdown)\/|\/surfaces\/accounts\/vector-usage\.|\/config\/(vectors|vector-stores|search)\.|left-out-rooms|(?<!config\/)left-out|absent-rooms/.test(
		source,
	);
