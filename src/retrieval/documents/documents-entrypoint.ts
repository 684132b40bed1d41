/**
 * Where conversions run: in the process at an address, or in requests of this Worker to its own entrypoint. On Cloudflare each of them
 * has a limit of its own for CPU time.
 */
import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { type Converter, remoteConverter } from "./converter.ts";

/** The type of the Worker's own exports has no names. */
const ownExports = exports as unknown as { Documents: Fetcher };

export const createConverter = (address: string | undefined): Converter =>
	remoteConverter((request) =>
		address === undefined ? ownExports.Documents.fetch(request) : fetch(address, request),
	);

export class Documents extends WorkerEntrypoint {
	override async fetch(request: Request): Promise<Response> {
		const { answerConversion } = await import("./answer-conversion.ts");
		return answerConversion(request);
	}
}
