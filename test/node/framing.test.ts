/** Where messages of a connection begin and end, for each way to cut them into pieces. */
import { expect, it } from "vitest";
import {
	answerBodyKind,
	FramingError,
	MessageFraming,
	requestBodyKind,
} from "../../scripts/connections/framing.ts";

const HEAD =
	"POST /a HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:  Bearer a \r\nx-long: \t\r\nContent-Length: 4\r\n\r\n";
const NEXT = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";

function read(pieces: readonly string[]) {
	const framing = new MessageFraming(requestBodyKind);
	const found: { target: string | undefined; headers: object; bodyBytes: number }[] = [];
	for (const piece of pieces)
		for (let unread = Buffer.from(piece, "latin1"); unread.length > 0; ) {
			unread = unread.subarray(framing.push(unread));
			if (!framing.hasEnded) continue;
			const { head, bodyBytes } = framing;
			found.push({ target: head?.startLine[1], headers: Object.fromEntries(head?.headers ?? []), bodyBytes });
			framing.next();
		}
	return found;
}

it("finds the same messages wherever they are cut", () => {
	const text = `${HEAD}\r\n\r\n${NEXT}`;
	const expected = [
		{ target: "/a", headers: { host: "x", authorization: "Bearer a", "content-length": "4" }, bodyBytes: 4 },
		{ target: "/b", headers: { host: "x" }, bodyBytes: 0 },
	];
	expect(read([text])).toEqual(expected);
	expect(read([...text])).toEqual(expected);
	for (let cut = 1; cut < text.length; cut++)
		expect(read([text.slice(0, cut), text.slice(cut)])).toEqual(expected);
});

it("an answer that changes the protocol ends with its head, wherever it is cut", () => {
	const head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";
	for (let cut = 1; cut < head.length; cut++) {
		const framing = new MessageFraming((head) => answerBodyKind(head, "GET"));
		expect(framing.push(Buffer.from(head.slice(0, cut)))).toBe(cut);
		expect(framing.push(Buffer.from(`${head.slice(cut)}frames`))).toBe(head.length - cut);
		expect(framing.kind).toBe("upgrade");
	}
});

it("reads a head with 12,000 lines, and refuses one that is malformed in its last line", () => {
	const lines = "a:b\r\n".repeat(12_000);
	expect(read([`GET / HTTP/1.1\r\nHost: x\r\n${lines}\r\n`])).toHaveLength(1);
	expect(() => read([`GET / HTTP/1.1\r\nHost: x\r\n${lines}no colon\r\n\r\n`])).toThrow(FramingError);
	expect(() => read([`GET / HTTP/1.1\r\nHost: x\r\n${"a".repeat(60_000)}\r\n\r\n`])).toThrow(FramingError);
});

const CHUNKED = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";

it.each([
	["a name with a character that is no letter of a token", "GET / HTTP/1.1\r\nHost: x\r\nx(: y\r\n\r\n"],
	["a name with a byte above 127", "GET / HTTP/1.1\r\nHost: x\r\nx\x80: y\r\n\r\n"],
	["a NUL in a value", "GET / HTTP/1.1\r\nHost: x\r\nx: a\0b\r\n\r\n"],
	["a length with a no-break space", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\xa0\r\n\r\nhello"],
	["a length with a vertical tab", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \v5\r\n\r\nhello"],
	["an encoding with a form feed", CHUNKED.replace("chunked", "chunked\f")],
	["chunks of HTTP/1.0", `${CHUNKED.replace("HTTP/1.1", "HTTP/1.0")}\r\n`],
	["a request as a trailer", `${CHUNKED}GET /other HTTP/1.1\r\nHost: x\r\n\r\n`],
	["a request after a CR as a trailer", `${CHUNKED}\rGET /other HTTP/1.1\r\nHost: x\r\n\r\n`],
	["a trailer with a space before the colon", `${CHUNKED}x : y\r\n\r\n`],
	["a trailer with a NUL", `${CHUNKED}x: \0\r\n\r\n`],
	["10 KB of trailers", `${CHUNKED}${`x: ${"y".repeat(1_000)}\r\n`.repeat(10)}\r\n`],
	["10 KB of extensions", CHUNKED.replace("5\r\nhello\r\n", `1;${"a".repeat(1_000)}\r\nx\r\n`.repeat(10))],
	["no host", "GET / HTTP/1.1\r\n\r\n"],
	["two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"],
	["a host of two names", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n"],
	["a host with a form feed", "GET / HTTP/1.1\r\nHost: x\f\r\n\r\n"],
	["text after the version", "GET / HTTP/1.1 x\r\nHost: x\r\n\r\n"],
	["a target with a byte above 127", "GET /\xe9 HTTP/1.1\r\nHost: x\r\n\r\n"],
	["a target with a NUL", "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"],
	["a target that is no path", "GET b HTTP/1.1\r\nHost: x\r\n\r\n"],
	["the target *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"],
])("refuses %s", (_, text) => {
	expect(() => read([text])).toThrow(FramingError);
});

it("reads chunks with extensions and trailers", () => {
	const text =
		'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\tChunked\r\n\r\n05 ;a="b"\r\nhello\r\n00\r\nx-y: z\r\n\r\n';
	expect(read([text])).toMatchObject([{ target: "/", bodyBytes: 32 }]);
});

it.each([
	["Authorization: Bearer a\r\nauthorization: Bearer b", "Bearer a, Bearer b"],
	["authorization:\r\nAUTHORIZATION:\t Bearer b \t", "Bearer b"],
	[`authorization: a${" ".repeat(60_000)}b`, `a${" ".repeat(60_000)}b`],
	["authorization: Bearer a\xa0", "Bearer a\xa0"],
	["authorization: \vBearer a\f", "\vBearer a\f"],
])("reads the credential %j as the Worker does", (lines, authorization) => {
	expect(read([`GET / HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`])[0]?.headers).toEqual({
		host: "x",
		authorization,
	});
});
