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
		.description("move vector indexes between stores")
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
	const search = ganglion
		.command("search")
		.description("fill AI Search instances from folders")
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
}
