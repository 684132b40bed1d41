/** Sends counts of this process to a worker: to the Unix socket of its entrypoint `Connections`. */
import { COLLECTION_PATH, type ProcessReport } from "../../src/core/shared-count.ts";
import { request } from "../http.ts";

/**
 * Never throws: if the runtime has stopped or is busy, the next counts replace these. `isCollectionDue`: the runtime also collects its garbage.
 */
export function sendCounts(
	socketPath: string,
	report: ProcessReport,
	{ isCollectionDue = false }: { isCollectionDue?: boolean } = {},
): void {
	const body = JSON.stringify(report);
	const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
	const path = isCollectionDue ? COLLECTION_PATH : "/";
	const sent = request({ socketPath, path, method: "POST", headers, agent: false }, (answer) =>
		answer.resume(),
	);
	sent.on("error", () => {});
	sent.end(body);
}
