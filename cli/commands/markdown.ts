/** `ganglion markdown FILE...`: prints files as Markdown. */
import type { Defaults } from "../config-location.ts";
import { convertFile } from "../markdown-files.ts";
import { type ReachFlags, withGateway } from "../reached-gateway.ts";
import { printJson } from "../table.ts";

/** The exit code is 1 if a file cannot be converted. */
export async function markdownCommand(
	files: readonly string[],
	{ flags, defaults }: { flags: ReachFlags; defaults: Defaults },
): Promise<number> {
	return withGateway({ flags, defaults }, async (client) => {
		const results = [];
		for (const file of files) {
			const converted = await convertFile(client, file);
			results.push(converted);
			if (converted.error !== undefined) console.error(`${file}: ${converted.error}`);
			else if (!flags.json) console.log(converted.data ?? "");
		}
		if (flags.json) printJson(results);
		return results.some(({ error }) => error !== undefined) ? 1 : 0;
	});
}
