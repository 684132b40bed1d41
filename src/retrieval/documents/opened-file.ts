/** A file, as the module of its kind receives it. Types only. */
import type { EmbeddedImages } from "./embedded-images.ts";
import type { ConversionOptions } from "./options.ts";
import type { Work } from "./work.ts";

export interface OpenedFile {
	name: string;
	/** The sender's type; may be empty. */
	sentType: string;
	bytes: Uint8Array;
	format: "markdown" | "text";
	options: ConversionOptions;
	/** The cost of the conversion is spent from it, before each step. */
	work: Work;
	/** Receives the images that models are to describe. */
	images: EmbeddedImages;
}

/** Returns the text. Throws a `ConversionFailure` with a sentence for the caller. */
export type KindConverter = (file: OpenedFile) => string | Promise<string>;
