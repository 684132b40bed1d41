/** The source files of a bundle that is not minified. */
import { readFileSync } from "node:fs";
import { modulesIn } from "../../miniflare/modules.ts";

export interface BundledFrame {
	/** From 0. */
	lineNumber: number;
	/** Ends with the name of a module. */
	url: string;
}

/** What rolldown writes above each part of a module. With other settings or in other versions it opens a region. */
const START = /^\/\/(?:#region)? (\S+\.(?:m?[jt]s|json))$/;

/** Finds the source file of a frame; an empty text, if there is none. */
export function placesIn(folder: string): (frame: BundledFrame) => string {
	const modules = new Map(
		modulesIn(folder).map(({ name, file }) => {
			const starts = readFileSync(file, "utf8")
				.split("\n")
				.flatMap((text, line) => {
					const path = START.exec(text)?.[1];
					return path ? [{ line, path: path.replace(/^.*node_modules\//, "") }] : [];
				});
			return [name, starts];
		}),
	);
	return ({ lineNumber, url }) => {
		const starts = modules.get(url.slice(url.lastIndexOf("/") + 1)) ?? [];
		return starts.findLast(({ line }) => line <= lineNumber)?.path ?? "";
	};
}
