/** Patterns of strangers: connections, headers, bodies and tokens that cost the gateway before it knows the caller. */
import { gzipSync } from "node:zlib";
import type { Pattern } from "../attacker.ts";
import { chat, FLOOD, HOLD_MS, inventedToken, KILOBYTE, MEGABYTE, padding } from "./requests.ts";

const CHATS = "/v1/chat/completions";
const DRIP_MS = 500;
const BOMB = gzipSync(padding(50 * MEGABYTE));

const stranger = (name: string, attempt: Pattern["attempt"]): Pattern => ({ name, by: "stranger", attempt });
const refused = (name: string, attempt: Pattern["attempt"]): Pattern => ({
	...stranger(name, attempt),
	isRefused: true,
});

export const CONNECTION_PATTERNS: readonly Pattern[] = [
	stranger("silent connection", async (a) => {
		await a.connect();
		await a.hold(HOLD_MS);
	}),
	stranger("one byte, then silence", async (a) => {
		await a.connect("P");
		await a.hold(HOLD_MS);
	}),
	stranger("slow request line", async (a) => a.drip(await a.connect("POST /"), "a", DRIP_MS, HOLD_MS)),
	stranger("slow headers", async (a) => {
		const connection = await a.connect(`POST ${CHATS} HTTP/1.1\r\nhost: gateway\r\n`);
		await a.drip(connection, "x-slow: 1\r\n", DRIP_MS, HOLD_MS);
	}),
	stranger("2,000 headers", async (a) => {
		const headers = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`x-${i}`, "y".repeat(40)]));
		await a.ask(CHATS, { body: chat(), headers, token: "" });
	}),
	stranger("a header of 1 MB", async (a) => {
		await a.ask(CHATS, { body: chat(), headers: { "x-large": padding(MEGABYTE) }, token: "" });
	}),
	stranger(
		"an address of 200 KB",
		async (a) => void (await a.ask(`/v1/${"a".repeat(200 * KILOBYTE)}`, { token: "" })),
	),
	stranger("slow body, invented token", async (a) => {
		const head = a.head(CHATS, {
			token: inventedToken(a),
			headers: { "content-type": "application/json", "content-length": "5000" },
		});
		await a.drip(await a.connect(`${head}{`), " ", DRIP_MS, HOLD_MS);
	}),
	stranger("slow body, no token", async (a) => {
		const headers = { "content-type": "application/json", "content-length": "5000" };
		await a.drip(await a.connect(a.head(CHATS, { token: "", headers })), " ", DRIP_MS, HOLD_MS);
	}),
	stranger("a body that never comes", async (a) => {
		const headers = { "content-type": "application/json", "content-length": "10000000" };
		await a.connect(a.head(CHATS, { token: inventedToken(a), headers }));
		await a.hold(HOLD_MS);
	}),
	stranger("slow pieces, invented token", async (a) => {
		const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
		const connection = await a.connect(a.head(CHATS, { token: inventedToken(a), headers }));
		await a.drip(connection, "1\r\n \r\n", DRIP_MS, HOLD_MS);
	}),
	stranger("an endless body, invented token", async (a) => {
		const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
		const connection = await a.connect(a.head(CHATS, { token: inventedToken(a), headers }));
		const piece = `10000\r\n${" ".repeat(65_536)}\r\n`;
		await a.drip(connection, piece, FLOOD.bytesMs, HOLD_MS);
	}),
	refused("8 MB at once, invented token", async (a) => {
		await a.ask(CHATS, { body: chat(padding(8 * MEGABYTE)), token: inventedToken(a) });
	}),
	refused("a form of 8 MB, no token", async (a) => {
		const headers = { "content-type": "multipart/form-data; boundary=x" };
		await a.ask("/v1/audio/transcriptions", { body: padding(8 * MEGABYTE), headers, token: "" });
	}),
	refused("a compressed bomb, invented token", async (a) => {
		const headers = { "content-encoding": "gzip" };
		await a.ask(CHATS, { body: BOMB, headers, token: inventedToken(a) });
	}),
	stranger("leaves after the header", async (a) => {
		const headers = { "content-type": "application/json", "content-length": "1000" };
		(await a.connect(a.head(CHATS, { token: inventedToken(a), headers }))).leave();
	}),
	stranger("leaves after the request", async (a) => {
		(await a.connect(a.request(CHATS, { body: chat(), token: inventedToken(a) }))).leave();
	}),
	stranger("connects and resets", async (a) => (await a.connect()).leave()),
	stranger("ends its side after the request", async (a) => {
		const connection = await a.connect(a.request(CHATS, { body: chat(), token: inventedToken(a) }));
		connection.socket.end();
		await Promise.race([connection.closed, a.hold(HOLD_MS)]);
	}),
	refused("CONNECT", async (a) => {
		const connection = await a.connect("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n");
		await connection.until(/\r\n\r\n/, HOLD_MS);
	}),
	refused("unknown methods", async (a) => void (await a.ask(CHATS, { method: "PURGE", token: "" }))),
	stranger("bytes of TLS", async (a) => {
		const connection = await a.connect(Buffer.from("16030102000100", "hex"));
		await Promise.race([connection.closed, a.hold(HOLD_MS)]);
	}),
	stranger("the preface of HTTP/2", async (a) => {
		const connection = await a.connect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
		await Promise.race([connection.closed, a.hold(HOLD_MS)]);
	}),
	stranger("two lengths of one body", async (a) => {
		const head = `POST ${CHATS} HTTP/1.1\r\nhost: gateway\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n`;
		const connection = await a.connect(head);
		await Promise.race([connection.closed, a.hold(HOLD_MS)]);
	}),
	stranger("100 requests in a row, unread", async (a) => {
		const request = a.head("/openapi.json", { method: "GET", token: "" });
		const connection = await a.connect();
		connection.socket.pause();
		await connection.write(request.repeat(100), a.signal);
		await a.hold(HOLD_MS);
	}),
	stranger("the API document, unread", async (a) => {
		await a.ask("/openapi.json", { token: "", unread: true, leaveMs: HOLD_MS });
	}),
	stranger("the console's files, unread", async (a) => {
		await a.ask("/console/", { token: "", unread: true, leaveMs: HOLD_MS });
	}),
	refused("tokens of accounts that do not exist", async (a) => {
		const account = `invented-${a.number}`;
		const path = `/client/v4/accounts/${account}/ai/v1/chat/completions`;
		await a.ask(path, { body: chat(), token: inventedToken(a, account) });
	}),
	refused("gateways of accounts that do not exist", async (a) => {
		const account = `invented-${a.number}`;
		await a.ask(`/v1/${account}/any-${a.number}/compat/chat/completions`, {
			body: chat(),
			token: inventedToken(a, account),
		});
	}),
	refused("a revoked token", async (a) => {
		await a.ask(CHATS, { body: chat(), token: a.target.revokedToken });
	}),
	stranger("a websocket, invented token", async (a) => {
		await a.webSocket(`/v1/${a.account}/plain`, inventedToken(a));
	}),
	stranger("100-continue, no body", async (a) => {
		const headers = { expect: "100-continue", "content-type": "application/json", "content-length": "100" };
		await a.connect(a.head(CHATS, { token: inventedToken(a), headers }));
		await a.hold(HOLD_MS);
	}),
	refused("control bytes in the path and the token", async (a) => {
		await a.ask(`/v1/%00%1b%5b31m/%0d%0aevil`, {
			token: "\u001b[31m\u0007",
			headers: { "x-a": "\u001b[2J" },
		});
	}),
	refused("preflights of browsers", async (a) => {
		const headers = { origin: `https://a${a.number}.example`, "access-control-request-method": "POST" };
		await a.ask(CHATS, { method: "OPTIONS", token: "", headers });
	}),
	stranger("probes that leave", async (a) => {
		(await a.connect(a.head("/ready", { method: "GET", token: "" }))).leave();
	}),
];
