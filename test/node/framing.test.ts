/** Where messages of a connection begin and end, for each way to cut them into pieces. */
import { expect, it } from "vitest";
import { FramingError, MessageFraming, requestBodyKind } from "../../scripts/connections/framing.ts";

const HEAD =
	"POST /a HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:  Bearer a \r\nx-long: \t\r\nContent-Length: 4\r\n\r\n";
const NEXT = "GET /b HTTP/1.1\r\n\r\n";

function read(pieces: readonly string[]) {
	const framing = new MessageFraming(requestBodyKind);
	const found: { target: string | undefined; headers: object; bodyBytes: number }[] = [];
	for (const piece of pieces)
		for (let unread = Buffer.from(piece); unread.length > 0; ) {
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
		{ target: "/a", headers: { authorization: "Bearer a", "content-length": "4" }, bodyBytes: 4 },
		{ target: "/b", headers: {}, bodyBytes: 0 },
	];
	expect(read([text])).toEqual(expected);
	expect(read([...text])).toEqual(expected);
	for (let cut = 1; cut < text.length; cut++)
		expect(read([text.slice(0, cut), text.slice(cut)])).toEqual(expected);
});

it("reads a head with 12,000 lines, and refuses one that is malformed in its last line", () => {
	const lines = "a:b\r\n".repeat(12_000);
	expect(read([`GET / HTTP/1.1\r\n${lines}\r\n`])).toHaveLength(1);
	expect(() => read([`GET / HTTP/1.1\r\n${lines}no colon\r\n\r\n`])).toThrow(FramingError);
	expect(() => read([`GET / HTTP/1.1\r\n${"a".repeat(60_000)}\r\n\r\n`])).toThrow(FramingError);
});
