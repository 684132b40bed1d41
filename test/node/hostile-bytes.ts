/** Pipelined requests with seeded mutations of the kinds that servers read in different ways, one byte a character (latin1). */
import type { Random } from "../../tools/soak/random.ts";

const SMUGGLED = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
const METHODS = ["GET", "HEAD", "POST", "POST", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
const ODD_METHODS = ["get", "PRI", "X", "G@T", "CONNECT", "PROPFIND", "", "GET\t", " GET", "TRACE", "LOCK"];
const ODD_TARGETS = [
	...["http://x/b", "http://other/b", "*", "", "b", "/\t", "/\0", "/ b", "/a#b", "//b/c", "/a/../b"],
	...["/%zz", "/\xe9", "/\x7f", "/\\b", "?b", "/a?b=c", '/"<>', "https://x/", "x:80", "/\v", "/\xa0"],
	...["http://", "/|^`{}"],
];
const VERSIONS = [
	...["HTTP/1.0", "HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/1.1 ", " HTTP/1.1", "", "http/1.1"],
	...["HTTP/1.1 x", "HTTP/1.1\t", "HTTP/1.10", "HTTP/11", "HTTP/1.1\0"],
];
const LENGTHS = [
	...["+5", "0x5", "5,5", "5, 5", "005", "5 ", "\t5", "5\t", "5\xa0", "\v5", "5\v", "\f5", "5 5"],
	...["-5", "5.0", "", "0", "4", "6", "1e1", "18446744073709551621", "9007199254740993"],
	...["000000000000005", "0000000000000005", "\xb2"],
];
const ENCODINGS = [
	...["Chunked", "CHUNKED", "\tchunked", "chunked\t", "chunked ", '"chunked"', "chunked,"],
	...[",chunked", "identity", "chunked, chunked", "gzip, chunked", "chunked, identity"],
	...["chunked;q=1", "chunked\xa0", "\vchunked", "\fchunked", "xchunked", "", "chunked\0"],
	...["chun\tked", "\xa0chunked"],
];
const SIZES = [
	...["05", "00005", "000000000005", "0000000000000005", "10000000000000005", "5 ", "5\t", " 5"],
	...["+5", "0x5", "5;a", "5;a=b", '5;a="b"', '5;a="\n"', "5;\n", "5 ;a", "5;\t", "5\0", "5\v", "-5"],
	...["", "6", "4", "5,5", `5;a=${"b".repeat(40)}`, "g"],
];
const TRAILERS = [
	...["x: y\r\n", "content-length: 5\r\n", "x y\r\n", SMUGGLED.slice(0, -2), "x: y\n", " x: y\r\n"],
	...["GET /smuggled HTTP/1.1\n", "\r", "\n", "transfer-encoding: chunked\r\n", ": x\r\n"],
];
const LINES = [
	...["x: y\r\n z", "x : y", " x: y", "\tx: y", "x\t: y", "x:", ":y", "x", "x:y", "x: \0", "x: \v"],
	...["x: \x80\xff", "x\x80: y", "x\v: y", "x\0: y", "x: y\r", "x: y\n", "x(: y", 'x"y: z'],
	...["x: \x7f", "x\x7f: y", "x: y\nz: a", "x: y\rz: a", "host: y"],
	...["upgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABkAAQAAP__"],
	...["expect: 100-continue", "upgrade: websocket\r\nconnection: upgrade", "expect: x"],
	...["connection: close", "connection: keep-alive", "te: trailers"],
	...[
		"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13",
	],
	...["content-length : 5", "content-length\t: 5", "\ncontent-length: 5"],
	...["transfer-encoding : chunked", "trailer: x", "x: y\r\n\tz", "transfer-encoding\0: chunked"],
	...["content_length: 5", "content-length\xa0: 5", "\r\ncontent-length: 5", "x: y\0z", "x: \xa0"],
	...["content-type: multipart/byteranges", "proxy-connection: close", "connection: content-length"],
	...["x: a\tb", "x: a\vb"],
];
const CREDENTIAL_LINES = [
	...["authorization: Bearer a", "Authorization:Bearer b", "AUTHORIZATION: \t Bearer c \t"],
	...["authorization: Bearer d\xa0", "authorization: \vBearer e", "x-api-key: f"],
	...["authorization: Bearer g\f", "authorization:", "x-api-key: \x80", "X-API-Key: h, i"],
];
const FRAGMENTS = [
	...["\r", "\n", "\r\n", " ", "\t", "\0", "\v", "\f", "\x80", "\xff", "\x7f", ":", ",", ";", '"'],
	...["\r\n ", "\n\n", "\r\r", "\x85", "\r\n\r\n", "\n\r\n", "\r\n\n", SMUGGLED, "0", "5"],
	...["\r\n0\r\n\r\n", "GET /smuggled HTTP/1.1\n\n"],
];
const BEFORE = [
	...["\r\n", "\n", "\r", " ", "\0", "\r\n\r\n", "\n\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
	...["hello\r\n\r\n", "GET /\r\n\r\n"],
];
export const LAST = "GET /last HTTP/1.1\r\nhost: x\r\n\r\n";

/** Up to two requests, and a last one that is valid. */
export function hostileBytes(random: Random): string {
	const below = (count: number): number => random.int(0, count - 1);
	const pick = <Choice>(choices: readonly Choice[]): Choice => choices[below(choices.length)] as Choice;
	const happens = (share: number): boolean => random.chance(share);
	const odd = (usual: string, choices: readonly string[]): string => (happens(0.06) ? pick(choices) : usual);

	function chunks(): string {
		const size = odd("5", SIZES);
		const data = odd("hello", ["hell", "hello!", "GET /", "\r\n\r\n\n", "\0\0\0\0\0"]);
		const end = odd("\r\n", ["\n", "\r", "", "\r\r\n", "x\r\n", "\n\r\n"]);
		const last = odd("0", ["00", "0000000000000000", "0;a", "0 ", "0x0", "-0", "", "00000000000000000000"]);
		const trailers = happens(0.1) ? Array.from({ length: 1 + below(2) }, () => pick(TRAILERS)).join("") : "";
		const lineEnd = (): string => odd("\r\n", ["\n", "\r", "\r\r\n", " \r\n", "\n\r\n"]);
		return `${size}${lineEnd()}${data}${end}${last}${lineEnd()}${trailers}${lineEnd()}`;
	}

	function request(): string {
		const lines = [odd("host: x", ["Host:x", "host: x, y", "host: x y", "host:", "HOST: x:1", "host: \0"])];
		const kind = pick(["none", "none", "length", "chunked", "chunked"]);
		if (kind === "length")
			lines.push(`${odd("Content-Length", ["content-length", "CONTENT-LENGTH"])}:${odd(" 5", LENGTHS)}`);
		if (kind === "chunked") lines.push(`transfer-encoding:${odd(" chunked", ENCODINGS)}`);
		if (happens(0.04))
			lines.push(
				pick(["content-length: 5", "transfer-encoding: chunked", "content-length: 0", "transfer-encoding:"]),
			);
		for (const choices of [LINES, CREDENTIAL_LINES, CREDENTIAL_LINES])
			if (happens(0.15)) lines.push(pick(choices));
		lines.sort(() => random.next() - 0.5);
		const lineEnd = (): string =>
			happens(0.01) ? pick(["\n", "\r", "\r\r\n", "\n\r\n", "\r\n\r\n", "\0\r\n"]) : "\r\n";
		const space = (): string => (happens(0.01) ? pick(["  ", "\t", "\v", "\0", ""]) : " ");
		const start = `${odd(pick(METHODS), ODD_METHODS)}${space()}${odd(pick(["/", "/a", "/b?c=d"]), ODD_TARGETS)}${space()}${odd("HTTP/1.1", VERSIONS)}`;
		const body = kind === "none" ? (happens(0.05) ? "hello" : "") : kind === "length" ? "hello" : chunks();
		return `${happens(0.04) ? pick(BEFORE) : ""}${[start, ...lines].map((line) => line + lineEnd()).join("")}${lineEnd()}${body}`;
	}

	let text = Array.from({ length: 1 + below(2) }, request).join("");
	if (happens(0.25)) {
		const at = below(text.length);
		text = text.slice(0, at) + pick(FRAGMENTS) + text.slice(at + below(3));
	}
	return text + LAST;
}
