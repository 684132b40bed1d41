/** The commands of documents, vectors and AI Search. */
import type { Command } from "commander";
import type { Defaults } from "./config-location.ts";
import { connected, type Finish, reaching } from "./connected.ts";

export function retrievalCommands(ganglion: Command, defaults: Defaults, finish: Finish): void {
	reaching(ganglion.command("markdown"))
		.description("print documents as Markdown: PDF, Office, OpenDocument, images, HTML and others")
		.argument("<file...>")
		.action(async (files: string[], flags) => {
			const { markdownCommand } = await import("./commands/markdown.ts");
			finish(await markdownCommand(files, { flags, defaults }));
		});
	const vectors = ganglion
		.command("vectors")
		.description("move vector indexes between stores, and write and read their files")
		.helpCommand(false);
	connected(vectors.command("move"))
		.description("move a vector index to another store, while it is used")
		.argument("<index>", "its name")
		.option("--to <store>", "a store of VECTORS.stores, or builtin")
		.option("--cancel", "end the move that runs: the index stays where it is")
		.action(async (index: string, flags) => {
			const { moveVectors } = await import("./commands/vectors.ts");
			finish(await moveVectors(index, flags));
		});
	connected(vectors.command("export"))
		.description("write the vectors of an index to a file, as lines of JSON")
		.argument("<index>", "its name")
		.option("--output <file>", "default: INDEX.ndjson")
		.option("--overwrite", "also a file that exists")
		.action(async (index: string, flags) => {
			const { exportVectors } = await import("./commands/vectors-export.ts");
			finish(await exportVectors(index, flags));
		});
	connected(vectors.command("import"))
		.description("write the vectors of a file into an index, which is created if it does not exist")
		.argument("<index>", "its name")
		.argument("<file>", "lines of JSON, as export and wrangler vectorize have them")
		.option("--metric <name>", "of a new index: cosine, euclidean or dot-product", "cosine")
		.option(
			"--metadata-index <property=type>",
			"such as folder=string, created before the vectors; may be repeated",
			(property, earlier: string[] = []) => [...earlier, property],
		)
		.action(async (index: string, file: string, flags) => {
			const { importVectors } = await import("./commands/vectors-import.ts");
			finish(await importVectors(index, file, flags));
		});
	const search = ganglion
		.command("search")
		.description("fill AI Search instances from folders, and write their files to folders")
		.helpCommand(false);
	connected(search.command("sync"))
		.description("make the files of a folder the items of an AI Search instance")
		.argument("<folder>")
		.requiredOption("--instance <id>", "the instance; it is created if it does not exist")
		.option("--namespace <name>", "its namespace (default: default)")
		.option("--prefix <path>", "before the path of each file, such as guides/")
		.option("--watch", "continue, and send what changes")
		.action(async (folder: string, flags) => {
			const { syncFolder } = await import("./commands/search-sync.ts");
			finish(await syncFolder(folder, flags));
		});
	connected(search.command("export"))
		.description("write the files of an AI Search instance to a folder")
		.argument("<folder>")
		.requiredOption("--instance <id>", "the instance")
		.option("--namespace <name>", "its namespace (default: default)")
		.option("--overwrite", "also files that have another content")
		.action(async (folder: string, flags) => {
			const { exportItems } = await import("./commands/search-export.ts");
			finish(await exportItems(folder, flags));
		});
}
