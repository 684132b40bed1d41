/** A request that does not keep this process running: a script with a model of this machine ends, although events are followed. */
import type { IncomingMessage } from "node:http";
import { get } from "../http.ts";

export interface BackgroundGet {
	url: string;
	headers?: Readonly<Record<string, string>>;
	signal: AbortSignal;
}

/** Resolves when the headers of the answer have arrived. The connection is used for nothing else. */
export function getInBackground({ url, headers = {}, signal }: BackgroundGet): Promise<IncomingMessage> {
	return new Promise((resolve, reject) => {
		const request = get(url, { agent: false, headers, signal }, resolve);
		request.once("socket", (socket) => socket.unref());
		// Also after the headers.
		request.on("error", reject);
	});
}
