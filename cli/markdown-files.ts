/** Files of this machine as Markdown, by `toMarkdown` of a gateway. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import * as z from "zod";
import { cannotBeRead } from "../scripts/file-failure.ts";
import { CommandError, type GatewayClient } from "./gateway-client.ts";

const Conversion = z.looseObject({
	name: z.string(),
	format: z.string(),
	data: z.string().optional(),
	error: z.string().optional(),
});
export type ShownConversion = z.output<typeof Conversion>;

/** `error` of the result is the reason why the file could not be converted. */
export async function convertFile(client: GatewayClient, file: string): Promise<ShownConversion> {
	const form = new FormData();
	form.set("files", await readDocument(file), basename(file));
	const [converted] = await client.result("/ai/tomarkdown", z.array(Conversion), { method: "POST", form });
	if (!converted) throw new CommandError(`${file}: the gateway has not converted it`);
	return converted;
}

async function readDocument(file: string): Promise<Blob> {
	const bytes = await readFile(file).catch((error: unknown) => {
		throw new CommandError(cannotBeRead(file, error));
	});
	return new Blob([bytes]);
}
