/** Converts one file for each request of this Worker to itself: on Cloudflare each has a limit of its own for CPU time. */
import { WorkerEntrypoint } from "cloudflare:workers";

export class Documents extends WorkerEntrypoint {
	override async fetch(request: Request): Promise<Response> {
		const { answerConversion } = await import("./answer-conversion.ts");
		return answerConversion(request);
	}
}
