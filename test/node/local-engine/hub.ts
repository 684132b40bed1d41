/**
 * A hub on loopback with the layout of huggingface.co: a list of files with sizes and hashes, and files behind a redirect, with ranges. It
 * can fail as hubs and networks do. The real hub redirects to another host, which must be encrypted; loopback is not.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const REVISION = "0123456789abcdef0123456789abcdef01234567";
/** The hub has it too. Its list names it if a test says so. */
export const NEWER = "fedcba9876543210fedcba9876543210fedcba98";

/** How the host of the files answers. */
type Fault =
	| "cut"
	| "silent"
	| "silent amid"
	| "altered"
	| "longer"
	| "no ranges"
	| "plain redirect"
	| "redirect to a file"
	| "redirect to nothing"
	| "redirect with a user name"
	| "redirect circle"
	| "endless"
	| "endless list"
	| "gated"
	| "busy";

export interface Hub {
	url: string;
	/** Paths with their range, of both hosts. */
	requests: string[];
	/** For the next requests of files. `undefined`: none. */
	fault: Fault | undefined;
	/** Fields of the list of files that replace the correct ones, or another answer. `undefined`: none. */
	listing: object | undefined;
	/** Bytes that are sent before a cut. */
	cutAfter: number;
	/** Called after each cut. */
	afterCut?: () => void;
	/** Files by repository and name. */
	files: Map<string, Buffer>;
	close(): void;
}

const REDIRECTS: Readonly<Record<string, string>> = {
	"plain redirect": "http://files.test",
	"redirect to a file": "file:///etc",
	"redirect to nothing": "https://[",
	"redirect with a user name": "https://user:password@files.test",
};
const ENDLESS_PIECE = Buffer.alloc(64 * 1024, " ");

/** Until the reader leaves. */
function sendForever(response: ServerResponse): void {
	const send = (): void => {
		while (!response.destroyed && response.write(ENDLESS_PIECE));
	};
	response.on("drain", send).writeHead(200);
	send();
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const listen = async (server: Server): Promise<string> => {
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export async function startHub(): Promise<Hub> {
	const server = createServer((request, response) => answer(request, response));
	const url = await listen(server);
	const hub: Hub = {
		...{ url, requests: [], fault: undefined, listing: undefined, cutAfter: 1000, files: new Map() },
		close() {
			server.closeAllConnections();
			server.close();
		},
	};

	function answer(request: IncomingMessage, response: ServerResponse): void {
		const { pathname } = new URL(request.url ?? "", url);
		const { range = "", authorization } = request.headers;
		hub.requests.push(`${pathname} ${range}`.trim());
		const [, repository] = /^\/api\/models\/(.+)\/revision\/main$/.exec(pathname) ?? [];
		if (hub.fault === "silent") return;
		if (repository !== undefined && hub.fault === "endless list") return void sendForever(response);
		if (repository !== undefined) {
			const siblings = [...hub.files]
				.filter(([path]) => path.startsWith(`${repository}/`))
				.map(([path, bytes]) => ({
					rfilename: path.slice(repository.length + 1),
					size: bytes.length,
					blobId: createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex"),
					// Small files are in Git, without a SHA-256.
					lfs: path.endsWith(".json")
						? null
						: { sha256: sha256(bytes), size: bytes.length, pointerSize: 134 },
				}));
			if (siblings.length === 0) return void response.writeHead(404).end("{}");
			const listed = [...siblings, { rfilename: "../../escape.gguf", size: 1, lfs: null }];
			response.writeHead(200, { "content-type": "application/json" });
			const list = { id: repository, sha: REVISION, siblings: listed };
			return void response.end(
				JSON.stringify(Array.isArray(hub.listing) ? hub.listing : { ...list, ...hub.listing }),
			);
		}
		if (hub.fault === "gated" && authorization === undefined) return void response.writeHead(401).end();
		if (hub.fault === "busy") return void response.writeHead(429, { "retry-after": "7" }).end();
		if (hub.fault === "redirect circle") return void response.writeHead(302, { location: request.url }).end();
		const file = pathname.replace(`/resolve/${REVISION}`, "").replace(`/resolve/${NEWER}`, "");
		if (!hub.files.has(file.replace(/^\/(?:storage\/)?/, ""))) return void response.writeHead(404).end();
		const elsewhere = REDIRECTS[hub.fault ?? ""];
		if (elsewhere !== undefined)
			return void response.writeHead(302, { location: `${elsewhere}${file}` }).end();
		if (request.url?.includes("/resolve/"))
			return void response.writeHead(302, { location: `/storage${file}` }).end();
		sendFile(request, response);
	}

	function sendFile(request: IncomingMessage, response: ServerResponse): void {
		const path = new URL(request.url ?? "", url).pathname.replace(/^\/storage\//, "");
		const bytes = hub.files.get(path) ?? Buffer.alloc(0);
		const [, from = "0"] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
		const start = hub.fault === "no ranges" ? 0 : Number(from);
		if (hub.fault === "endless") return void sendForever(response);
		if (start > 0 && start >= bytes.length)
			return void response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
		const rest = bytes.subarray(start);
		const sent = hub.fault === "altered" ? Buffer.alloc(rest.length, 1) : rest;
		const headers = {
			"content-length": String(sent.length),
			...(start > 0 && { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
		};
		if (hub.fault === "longer") {
			response.writeHead(start > 0 ? 206 : 200);
			return void response.end(Buffer.concat([sent, Buffer.alloc(100)]));
		}
		response.writeHead(start > 0 ? 206 : 200, headers);
		if (hub.fault === "cut" && sent.length > hub.cutAfter) {
			response.write(sent.subarray(0, hub.cutAfter), () => {
				request.socket.destroy();
				hub.afterCut?.();
			});
			return;
		}
		if (hub.fault === "silent amid") return void response.write(sent.subarray(0, hub.cutAfter));
		response.end(sent);
	}

	return hub;
}
